// The network's kernel for AVX2 with FMA; absent if the compiler was not told to use them.
#if defined(__AVX2__) && defined(__FMA__)
#define CAPRA_LANES 8
#include "kernel.inl"

const capra::network::Kernel* capra::network::avx2_kernel() {
  static constexpr Kernel kernel = make("avx2");
  return &kernel;
}
#else
#include "kernel.hpp"

const capra::network::Kernel* capra::network::avx2_kernel() { return nullptr; }
#endif
