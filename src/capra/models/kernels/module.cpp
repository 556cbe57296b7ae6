// The Python face of the kernels: shapes and types are checked here, the algorithms live in their own files.
#include <nanobind/nanobind.h>

#include <cstdint>

#include "arrays.hpp"
#include "bindings.hpp"
#include "rows.hpp"

namespace nb = nanobind;

NB_MODULE(_kernels, m) {
  m.doc() = "Capra's compiled kernels: numpy arrays in, numpy arrays out.";

  m.def(
      "hash_rows",
      [](capra::Rows<double> x) {
        const std::size_t shape[] = {x.shape(0)};
        auto out = capra::make_array<std::uint64_t>(shape);
        nb::gil_scoped_release release;
        capra::hash_rows(x.data(), x.shape(0), x.shape(1), out.data());
        return out;
      },
      nb::arg("x"), "One 64-bit hash per row of a float64 matrix; NaN equals NaN.");

  capra::bind_forest(m);
  capra::bind_network(m);
}
