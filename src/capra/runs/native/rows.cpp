// Rows of the store: their checksums, and the objects that they become. There are millions of them, and Python takes three to
// four times as long.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nb = nanobind;

namespace {

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t n = 0; n < 256; ++n) {
    std::uint32_t crc = n;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? 0xedb88320u : 0u);
    tables[0][n] = crc;
  }
  for (std::uint32_t n = 0; n < 256; ++n)
    for (std::size_t k = 1; k < 8; ++k)
      tables[k][n] = (tables[k - 1][n] >> 8) ^ tables[0][tables[k - 1][n] & 255];
  return tables;
}

constexpr Tables kTables = make_tables();

std::uint32_t little_endian(const unsigned char* at) {
  return at[0] | at[1] << 8 | at[2] << 16 | static_cast<std::uint32_t>(at[3]) << 24;
}

// zlib's CRC-32, eight bytes at a time (Kounavis & Berry 2008).
std::uint32_t crc32(std::string_view data, std::uint32_t crc) {
  const auto* at = reinterpret_cast<const unsigned char*>(data.data());
  std::size_t left = data.size();
  crc = ~crc;
  for (; left >= 8; at += 8, left -= 8) {
    const std::uint32_t one = little_endian(at) ^ crc, two = little_endian(at + 4);
    crc = kTables[7][one & 255] ^ kTables[6][one >> 8 & 255] ^ kTables[5][one >> 16 & 255] ^ kTables[4][one >> 24] ^
          kTables[3][two & 255] ^ kTables[2][two >> 8 & 255] ^ kTables[1][two >> 16 & 255] ^ kTables[0][two >> 24];
  }
  for (; left > 0; ++at, --left) crc = (crc >> 8) ^ kTables[0][(crc ^ *at) & 255];
  return ~crc;
}

// Checksum of values and of their types: codes of the types, numbers by their bits (little-endian), texts by their UTF-8
// bytes with a NUL between them. Nothing if a value is of another type than these.
class Digest {
 public:
  std::optional<std::uint32_t> operator()(PyObject* row, Py_ssize_t count) {
    codes_.clear(), numbers_.clear(), texts_.clear();
    first_text_ = true;
    for (Py_ssize_t i = 0; i < count; ++i)
      if (!add(PyTuple_GET_ITEM(row, i))) return std::nullopt;
    return crc32(texts_, crc32(numbers_, crc32(codes_, 0)));
  }

 private:
  bool add(PyObject* value) {
    if (value == Py_None) {
      codes_ += '-';
    } else if (PyFloat_CheckExact(value)) {
      const double number = PyFloat_AS_DOUBLE(value);
      std::uint64_t bits;
      std::memcpy(&bits, &number, sizeof bits);
      add('d', bits);
    } else if (PyLong_CheckExact(value)) {
      const long long number = PyLong_AsLongLong(value);
      if (number == -1 && PyErr_Occurred()) throw nb::python_error();
      add('q', static_cast<std::uint64_t>(number));
    } else if (PyUnicode_CheckExact(value)) {
      add_text(value);
    } else {
      return false;
    }
    return true;
  }

  void add(char code, std::uint64_t bits) {
    codes_ += code;
    for (int byte = 0; byte < 8; ++byte) numbers_ += static_cast<char>(bits >> (8 * byte));
  }

  void add_text(PyObject* value) {
    Py_ssize_t size;
    const char* text = PyUnicode_AsUTF8AndSize(value, &size);
    if (text == nullptr) throw nb::python_error();
    codes_ += 's';
    if (!first_text_) texts_ += '\0';
    first_text_ = false;
    texts_.append(text, static_cast<std::size_t>(size));
  }

  std::string codes_, numbers_, texts_;
  bool first_text_ = true;
};

// A frozen class with slots. Its objects are filled through the slots themselves, without its own checks: these were made
// when the row was written, and the checksum says that it has not changed.
class Kind {
 public:
  Kind(nb::handle type, const nb::tuple& slots) : type_(reinterpret_cast<PyTypeObject*>(type.ptr())) {
    for (nb::handle slot : slots) slots_.push_back(slot.ptr());
  }

  std::size_t size() const { return slots_.size(); }

  template <typename Value>
  nb::object make(Value value) const {
    nb::object made = nb::steal(PyType_GenericAlloc(type_, 0));
    if (!made.is_valid()) throw nb::python_error();
    for (std::size_t i = 0; i < slots_.size(); ++i)
      if (Py_TYPE(slots_[i])->tp_descr_set(slots_[i], made.ptr(), value(i)) != 0) throw nb::python_error();
    return made;
  }

 private:
  PyTypeObject* type_;
  std::vector<PyObject*> slots_;
};

constexpr Py_ssize_t kConfig = 3, kAskedBy = 7, kStatus = 8;

nb::object make_run(PyObject* row, PyObject* config, PyObject* status, const Kind& request, const Kind& outcome,
                    const Kind& run) {
  const auto at = [row](std::size_t i) { return PyTuple_GET_ITEM(row, static_cast<Py_ssize_t>(i)); };
  const nb::object asked = request.make([&](std::size_t i) { return i == 0 ? config : at(kConfig + i); });
  const nb::object told = outcome.make([&](std::size_t i) { return i == 0 ? status : at(kStatus + i); });
  PyObject* parts[] = {asked.ptr(), told.ptr(), at(kAskedBy), at(0), at(kStatus + outcome.size())};
  return run.make([&](std::size_t i) { return parts[i]; });
}

nb::list read_runs(const nb::list& rows, nb::handle configs, nb::handle statuses, const Kind& request,
                   const Kind& outcome, const Kind& run) {
  Digest digest;
  nb::list runs;
  const Py_ssize_t width = kStatus + static_cast<Py_ssize_t>(outcome.size()) + 2;
  for (nb::handle row : rows) {
    if (!PyTuple_CheckExact(row.ptr()) || PyTuple_GET_SIZE(row.ptr()) != width)
      throw nb::value_error("a run's row has another width");
    PyObject* crc = PyTuple_GET_ITEM(row.ptr(), width - 1);
    const auto right = digest(row.ptr(), width - 1);
    if (!right || !PyLong_CheckExact(crc) || PyLong_AsLongLong(crc) != static_cast<long long>(*right)) return runs;
    const nb::object config = nb::steal(PyObject_GetItem(configs.ptr(), PyTuple_GET_ITEM(row.ptr(), kConfig)));
    if (!config.is_valid()) throw nb::python_error();
    const nb::object status = nb::steal(PyObject_GetItem(statuses.ptr(), PyTuple_GET_ITEM(row.ptr(), kStatus)));
    if (!status.is_valid()) throw nb::python_error();
    runs.append(make_run(row.ptr(), config.ptr(), status.ptr(), request, outcome, run));
  }
  return runs;
}

// Puts the configurations of rows (id, JSON, checksum) into the dictionary, unless they are there. The id of the first whose
// checksum is wrong, if there is one.
std::optional<std::string> read_configs(const nb::list& rows, nb::dict configs, const Kind& config) {
  for (nb::handle row : rows) {
    if (!PyTuple_CheckExact(row.ptr()) || PyTuple_GET_SIZE(row.ptr()) != 3)
      throw nb::value_error("a configuration's row has another width");
    PyObject *name = PyTuple_GET_ITEM(row.ptr(), 0), *crc = PyTuple_GET_ITEM(row.ptr(), 2);
    PyObject* parts[] = {name, PyTuple_GET_ITEM(row.ptr(), 1)};
    std::uint32_t right = 0;
    for (PyObject* part : parts) {
      Py_ssize_t size;
      const char* text = PyUnicode_AsUTF8AndSize(part, &size);
      if (text == nullptr) throw nb::python_error();
      right = crc32({text, static_cast<std::size_t>(size)}, right);
    }
    if (!PyLong_CheckExact(crc) || PyLong_AsLongLong(crc) != static_cast<long long>(right))
      return nb::cast<std::string>(nb::handle(name));
    if (configs.contains(nb::handle(name))) continue;
    const nb::object made = config.make([&](std::size_t i) { return parts[i]; });
    if (PyDict_SetItem(configs.ptr(), name, made.ptr()) != 0) throw nb::python_error();
  }
  return std::nullopt;
}

}  // namespace

NB_MODULE(_rows, m) {
  m.doc() = "Rows of the store: their checksums, and the objects that they become.";

  m.def(
      "digest",
      [](const nb::tuple& row) {
        const auto found = Digest()(row.ptr(), PyTuple_GET_SIZE(row.ptr()));
        if (!found) throw nb::type_error("a row holds None, int, float and str");
        return *found;
      },
      nb::arg("row"), "Checksum of the values (None, int, float, str) and of their types.");

  nb::class_<Kind>(m, "Kind", "A class whose objects are made from rows.")
      .def(nb::init<nb::handle, const nb::tuple&>(), nb::arg("type"), nb::arg("slots"), nb::keep_alive<1, 2>(),
           nb::keep_alive<1, 3>());

  m.def("read_runs", &read_runs, nb::arg("rows"), nb::arg("configs"), nb::arg("statuses"), nb::arg("request"),
        nb::arg("outcome"), nb::arg("run"), "Runs of rows with checksum, up to the first whose checksum is wrong.");

  m.def("read_configs", &read_configs, nb::arg("rows"), nb::arg("configs"), nb::arg("config"),
        "Puts configurations of rows with checksum into the dictionary; the id of the first whose checksum is wrong.");
}
