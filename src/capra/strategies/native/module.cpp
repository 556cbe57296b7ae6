// Python's view of the cores.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "impatient.hpp"
#include "confidence.hpp"
#include "leaps.hpp"
#include "procrastination.hpp"
#include "utilitarian.hpp"

namespace nb = nanobind;
using namespace capra;

namespace {

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Place = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Triple = std::tuple<std::int64_t, std::int64_t, double>;

Triple triple(const Step& step) { return {step.config, step.column, step.cap}; }

std::vector<Triple> triples(const Steps& steps) {
  std::vector<Triple> found;
  for (const Step& step : steps) found.push_back(triple(step));
  return found;
}

Ledger* new_ledger(const Matrix& times, const Matrix& values, const Place& place) {
  if (times.shape(0) != values.shape(0) || times.shape(1) != values.shape(1) || place.shape(0) == 0)
    throw std::invalid_argument("times and values have one shape, and there is a column");
  std::vector<std::int64_t> columns(place.data(), place.data() + place.shape(0));
  for (const std::int64_t column : columns)
    if (column < 0 || column >= static_cast<std::int64_t>(times.shape(1))) throw std::invalid_argument("no such column");
  return new Ledger(times.data(), values.data(), times.shape(1), std::move(columns), times.shape(0));
}

template <class Core, class Class>
void bind_core(Class& shape) {
  shape
      .def("wanted", [](const Core& core) -> std::optional<Triple> {
        const std::optional<Step> step = core.wanted();
        return step ? std::optional<Triple>(triple(*step)) : std::nullopt;
      })
      .def("take", &Core::take)
      .def("ahead", [](const Core& core, std::size_t count) { return triples(core.ahead(count)); })
      .def("exclude", &Core::exclude)
      .def("simulate", &simulate<Core>, nb::arg("ledger"), nb::arg("gap") = 0.0, nb::arg("budget") = kInfinity,
           nb::arg("steps") = std::numeric_limits<std::int64_t>::max())
      .def_prop_ro("answer", &Core::answer)
      .def_prop_ro("gap", &Core::gap);
}

}  // namespace

NB_MODULE(_guarantees, m) {
  nb::class_<Ledger>(m, "Ledger")
      .def(nb::new_(&new_ledger), nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>(), nb::arg("times"), nb::arg("values"),
           nb::arg("place"))
      .def("look", [](Ledger& ledger, std::int64_t i, std::int64_t j, double cap) { return ledger.look({i, j, cap}); })
      .def_ro("restart", &Ledger::restart)
      .def_ro("resumed", &Ledger::resumed)
      .def_ro("fresh_restart", &Ledger::fresh_restart)
      .def_ro("fresh_resumed", &Ledger::fresh_resumed)
      .def_ro("steps", &Ledger::steps)
      .def_ro("runs", &Ledger::runs);

  auto sp = nb::class_<Procrastination>(m, "Procrastination")
                .def(nb::init<std::size_t, double, double, double, double, double>(), nb::arg("configs"), nb::arg("epsilon"),
                     nb::arg("zeta"), nb::arg("kappa0"), nb::arg("kappa_bar"), nb::arg("factor") = 2.0)
                .def("queue", &Procrastination::queue);
  bind_core<Procrastination>(sp);

  auto spc = nb::class_<Confidence>(m, "Confidence")
                 .def(nb::init<std::size_t, double, double>(), nb::arg("configs"), nb::arg("kappa0"), nb::arg("factor") = 2.0)
                 .def("bound", &Confidence::bound)
                 .def("begun", &Confidence::begun)
                 .def("is_out", &Confidence::is_out)
                 .def("known_below", &Confidence::known_below)
                 .def("seen", &Confidence::seen)
                 .def_prop_ro("steps", &Confidence::steps);
  bind_core<Confidence>(spc);

  auto leaps = nb::class_<LeapsAndBounds>(m, "LeapsAndBounds")
                   .def(nb::init<std::size_t, double, double, double, double, double>(), nb::arg("configs"), nb::arg("epsilon"),
                        nb::arg("delta"), nb::arg("zeta"), nb::arg("kappa0"), nb::arg("multiplier") = 1.25)
                   .def_prop_ro("theta", &LeapsAndBounds::theta);
  bind_core<LeapsAndBounds>(leaps);

  nb::class_<CapsSettings>(m, "CapsSettings")
      .def("__init__", [](CapsSettings* self, std::size_t n, double epsilon, double delta, double zeta, double kappa0, double runs,
                          double events, double patience) {
        new (self) CapsSettings{n, epsilon, delta, zeta, kappa0, runs, events, patience};
      })
      .def_prop_ro("b", &CapsSettings::b);
  auto caps = nb::class_<CapsAndRuns>(m, "CapsAndRuns")
                  .def(nb::init<const CapsSettings&>())
                  .def_prop_ro("is_sure", &CapsAndRuns::is_sure)
                  .def_prop_ro("least", &CapsAndRuns::least);
  bind_core<CapsAndRuns>(caps);
  auto impatient = nb::class_<Impatient>(m, "Impatient")
                       .def(nb::init<std::vector<std::size_t>, const CapsSettings&>())
                       .def_prop_ro("is_sure", &Impatient::is_sure)
                       .def_prop_ro("least", &Impatient::least)
                       .def_prop_ro("kept", &Impatient::kept);
  bind_core<Impatient>(impatient);

  auto utilitarian = nb::class_<Utilitarian>(m, "Utilitarian")
                         .def("bounds", &Utilitarian::bounds)
                         .def("sample", &Utilitarian::sample)
                         .def_prop_ro("configs", &Utilitarian::configs);
  bind_core<Utilitarian>(utilitarian);
  nb::class_<Up, Utilitarian>(m, "Up")
      .def(nb::init<std::size_t, double, double, std::vector<double>, double>(), nb::arg("configs"), nb::arg("delta"),
           nb::arg("kappa0"), nb::arg("worth"), nb::arg("epsilon") = 0.0)
      .def_prop_ro("alive", &Up::alive);
  nb::class_<Oup, Utilitarian>(m, "Oup")
      .def(nb::init<std::size_t, double, double, std::vector<double>, double>(), nb::arg("configs"), nb::arg("delta"),
           nb::arg("kappa0"), nb::arg("worth"), nb::arg("epsilon") = 0.0);
  nb::class_<Coup, Utilitarian>(m, "Coup")
      .def(nb::init<std::size_t, double, double, std::vector<double>, double, int, std::size_t, std::size_t>(), nb::arg("most"), nb::arg("delta"),
           nb::arg("kappa0"), nb::arg("worth"), nb::arg("pace") = 5.0, nb::arg("phases") = std::numeric_limits<int>::max(),
           nb::arg("given") = 0, nb::arg("each") = 1)
      .def_prop_ro("phase", &Coup::phase)
      .def_prop_ro("promise", &Coup::promise);
}
