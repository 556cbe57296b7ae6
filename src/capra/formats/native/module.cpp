// Python's view of the features of formulas.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "probes.hpp"

namespace nb = nanobind;
using capra::cnf::Malformed;

namespace {

// ValueError(message, line).
void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Malformed& error) {
    PyErr_SetObject(PyExc_ValueError, nb::make_tuple(error.what(), error.line).ptr());
  }
}

std::pair<std::vector<std::string>, std::vector<double>> features(const nb::bytes& text) {
  const nb::gil_scoped_release release;
  capra::cnf::Row row = capra::cnf::features(text.c_str(), text.size());
  return {std::move(row.names), std::move(row.values)};
}

}  // namespace

NB_MODULE(_cnf, m) {
  nb::register_exception_translator(translate);
  m.def("features", &features);
}
