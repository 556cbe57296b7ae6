#pragma once
#include <nanobind/nanobind.h>

// Adds the network's functions to the module.
void bind_network(nanobind::module_& m);
