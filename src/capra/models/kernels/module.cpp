// The Python face of the kernels: shapes and types are checked here, the algorithms live in their own files.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>

#include "bindings.hpp"
#include "network_bind.hpp"
#include "rows.hpp"

namespace nb = nanobind;

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Hashes = nb::ndarray<nb::numpy, std::uint64_t, nb::ndim<1>>;

NB_MODULE(_kernels, m) {
  m.doc() = "Capra's compiled kernels: numpy arrays in, numpy arrays out.";

  m.def(
      "hash_rows",
      [](Matrix x) {
        const std::size_t rows = x.shape(0);
        auto* out = new std::uint64_t[rows];
        nb::capsule owner(out, [](void* p) noexcept { delete[] static_cast<std::uint64_t*>(p); });
        {
          nb::gil_scoped_release release;
          capra::hash_rows(x.data(), rows, x.shape(1), out);
        }
        return Hashes(out, {rows}, owner);
      },
      nb::arg("x"), "One 64-bit hash per row of a float64 matrix; NaN equals NaN.");

  capra::bind_forest(m);
  bind_network(m);
}
