#include "lbfgs.hpp"

#include <algorithm>
#include <cmath>

namespace capra::network {
namespace {

constexpr std::size_t kMemory = 20;
constexpr int kTrials = 20;
constexpr double kDecrease = 1e-4, kCurvature = 0.9;  // the constants of Wolfe's conditions

float* floats(std::vector<Aligned>& v) { return v.data()->lane; }

}  // namespace

Lbfgs::Lbfgs(const Kernel& kernel, std::size_t n)
    : kernel_(kernel), n_(n), direction_(vector()), trial_(vector()), slope_(vector()) {}

// The two-loop recursion: direction = −H·gradient.
void Lbfgs::direct(const float* gradient) {
  float* d = floats(direction_);
  std::fill_n(d, n_, 0.0f);
  kernel_.add(n_, -1.0f, gradient, d);
  std::vector<double> alpha(pairs_.size());
  for (std::size_t i = pairs_.size(); i-- > 0;) {
    alpha[i] = pairs_[i].rho * kernel_.dot(n_, floats(pairs_[i].s), d);
    kernel_.add(n_, static_cast<float>(-alpha[i]), floats(pairs_[i].y), d);
  }
  if (!pairs_.empty()) {
    Pair& last = pairs_.back();
    const float gamma = static_cast<float>(1.0 / (last.rho * kernel_.dot(n_, floats(last.y), floats(last.y))));
    for (std::size_t i = 0; i < n_; ++i) d[i] *= gamma;
  }
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const double beta = pairs_[i].rho * kernel_.dot(n_, floats(pairs_[i].y), d);
    kernel_.add(n_, static_cast<float>(alpha[i] - beta), floats(pairs_[i].s), d);
  }
}

// Bisection for Wolfe's conditions (Lewis & Overton 2013, Alg. 2.6): trial_ and slope_ are the next point and its gradient.
bool Lbfgs::search(const Loss& loss, double& value, float* weights, float* gradient) {
  const double descent = kernel_.dot(n_, floats(direction_), gradient);
  if (!(descent < 0.0)) return false;
  double low = 0.0, high = INFINITY;
  double step = pairs_.empty() ? std::min(1.0, 1.0 / std::sqrt(-descent)) : 1.0;
  for (int i = 0; i < kTrials; ++i) {
    std::copy_n(weights, n_, floats(trial_));
    kernel_.add(n_, static_cast<float>(step), floats(direction_), floats(trial_));
    const double found = loss(floats(trial_), floats(slope_));
    if (!(found <= value + kDecrease * step * descent))  // also when it is not a number
      high = step;
    else if (kernel_.dot(n_, floats(direction_), floats(slope_)) < kCurvature * descent)
      low = step;
    else
      return value = found, true;
    step = std::isinf(high) ? 2.0 * low : 0.5 * (low + high);
  }
  return false;
}

void Lbfgs::remember(const float* weights, const float* gradient) {
  if (pairs_.size() == kMemory) std::rotate(pairs_.begin(), pairs_.begin() + 1, pairs_.end());
  if (pairs_.size() < kMemory) pairs_.push_back({vector(), vector(), 0.0});
  Pair& pair = pairs_.back();
  pair.s = trial_;
  kernel_.add(n_, -1.0f, weights, floats(pair.s));
  pair.y = slope_;
  kernel_.add(n_, -1.0f, gradient, floats(pair.y));
  const double curvature = kernel_.dot(n_, floats(pair.s), floats(pair.y));
  if (curvature > 0.0)
    pair.rho = 1.0 / curvature;
  else  // only rounding can bring us here after Wolfe's conditions: forget
    pairs_.pop_back();
}

void Lbfgs::minimise(const Loss& loss, std::size_t iterations, float* weights) {
  std::vector<Aligned> gradient = vector();
  double value = loss(weights, floats(gradient));
  for (std::size_t i = 0; i < iterations; ++i) {
    direct(floats(gradient));
    if (!search(loss, value, weights, floats(gradient))) return;
    remember(weights, floats(gradient));
    std::copy_n(floats(trial_), n_, weights);
    gradient.swap(slope_);
  }
}

}  // namespace capra::network
