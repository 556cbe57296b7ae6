#pragma once
#include <string>
#include <vector>

#include "kernel.hpp"

namespace capra::network {

// The variants that this build has and this machine can execute, the fastest first.
std::vector<const Kernel*> kernels();

// The variant of that name, the fastest one for an empty name; null if it cannot run here.
const Kernel* kernel(const std::string& name);

}  // namespace capra::network
