#pragma once
// What is compiled several times, once per instruction set. Nothing here may need an inline function of the standard
// library: the linker keeps one copy of such a function, and it could be the one that this machine cannot execute.
#include <cstddef>
#include <cstdint>

namespace capra::network {

constexpr std::size_t kTile = 16;  // rows that go through the network together

// One layer: `out` rows of `stride` floats; a row holds `in` weights, the bias, and zeros.
struct Layer {
  std::size_t in, out, stride, offset;
};

struct View {
  const Layer* layers;
  std::size_t depth;
};

struct alignas(64) Aligned {
  float lane[16];
};

// For every layer its input twice: rows[l] is (kTile, stride), the way gradients of weights want it, and units[l] is
// (in, kTile), the way everything else does. outputs is (2, kTile): location and raw scale; delta[i] is (widest, kTile).
struct Buffers {
  float* const* rows;
  float* const* units;
  float* const* delta;
  float* outputs;
};

struct Kernel {
  const char* name;
  std::size_t lanes;
  // rows[0] → outputs; fills rows and units on the way if a backward pass follows.
  void (*forward)(const View&, const float* weights, const Buffers&, bool keep);
  // delta[0] holds the slopes of the loss in the outputs, (2, kTile); adds to gradient.
  void (*backward)(const View&, const float* weights, const Buffers&, float* gradient);
  void (*sgd)(std::size_t n, float* weights, float* gradient, float* velocity, float rate, float decay, float clip);
  void (*adam)(std::size_t n, float* weights, float* gradient, float* first, float* second, float rate, float decay,
               float clip, float first_bias, float second_bias);
  double (*dot)(std::size_t n, const float* a, const float* b);
  void (*add)(std::size_t n, float factor, const float* a, float* to);  // to += factor · a
};

// The variants; null where this build does not have one.
const Kernel* portable_kernel();
const Kernel* avx2_kernel();
const Kernel* avx512_kernel();

}  // namespace capra::network
