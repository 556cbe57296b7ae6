// The network's kernel in the instructions that every processor of this kind has.
#define CAPRA_LANES 4
#include "kernel.inl"

const capra::network::Kernel* capra::network::portable_kernel() {
  static constexpr Kernel kernel = make("portable");
  return &kernel;
}
