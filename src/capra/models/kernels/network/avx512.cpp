// The network's kernel for AVX-512; absent if the compiler was not told to use it.
#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define CAPRA_LANES 16
#include "kernel.inl"

const capra::network::Kernel* capra::network::avx512_kernel() {
  static constexpr Kernel kernel = make("avx512");
  return &kernel;
}
#else
#include "kernel.hpp"

const capra::network::Kernel* capra::network::avx512_kernel() { return nullptr; }
#endif
