#pragma once
#include <nanobind/nanobind.h>

namespace capra {

// Each kernel adds its functions and classes to the one extension module.
void bind_forest(nanobind::module_& m);
void bind_network(nanobind::module_& m);

}  // namespace capra
