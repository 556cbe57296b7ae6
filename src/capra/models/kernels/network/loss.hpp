#pragma once
#include <cstddef>
#include <cstdint>

#include "kernel.hpp"

namespace capra::network {

// The distribution of log time whose location and scale a network predicts. Weibull times have logarithms of Gumbel's
// smallest-value distribution; log-logistic times have logistic ones.
enum class Head : int { normal, weibull, logistic };

constexpr double kMinScale = 0.01;  // of the targets' deviation: keeps noise-free data from driving the scale to zero

// Minus the log of the standard density (observed) or survival function (censored) at z, and its slope in z.
struct Term {
  double loss, slope;
};
Term term(Head head, double z, bool censored);

// softplus(raw) + kMinScale
double scale_of(double raw);

// Σ weight·loss over `count` ≤ kTile rows of network outputs (2, kTile); writes the slopes in the outputs, zero for rows
// beyond `count`.
double tile_loss(Head head, const float* outputs, const float* y, const std::uint8_t* censored, std::size_t count,
                 double weight, float* slopes);

}  // namespace capra::network
