#include "dispatch.hpp"

namespace capra::network {
namespace {

bool runs_avx2() {
#if defined(__x86_64__) || defined(__i386__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

bool runs_avx512() {
#if defined(__x86_64__) || defined(__i386__)
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

}  // namespace

std::vector<const Kernel*> kernels() {
  std::vector<const Kernel*> found;
  if (avx512_kernel() != nullptr && runs_avx512()) found.push_back(avx512_kernel());
  if (avx2_kernel() != nullptr && runs_avx2()) found.push_back(avx2_kernel());
  found.push_back(portable_kernel());
  return found;
}

const Kernel* kernel(const std::string& name) {
  for (const Kernel* candidate : kernels())
    if (name.empty() || name == candidate->name) return candidate;
  return nullptr;
}

}  // namespace capra::network
