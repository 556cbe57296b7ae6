// Empirical Bernstein stopping (Mnih, Szepesvári & Audibert 2008, EBGStop): a mean of bounded times, and how sure it is.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace capra {

// The mean of times within [0, cap]; with probability 1 − 1/events it is never further off than error(). Bounds hold at all
// times because their checkpoints grow geometrically; Σ l^−1.1 = 10.5844 is how they share the failure probability.
class Estimate {
 public:
  Estimate() = default;
  Estimate(double cap, double events) : cap_(cap), events_(events) {}

  void add(double time) {
    ++count_;
    total_ += time;
    squares_ += time * time;
    if (count_ >= next_) pass_checkpoint();
    if (count_ < 2) return;
    const auto count = static_cast<double>(count_);
    const double mean = total_ / count, variance = std::max(squares_ / count - mean * mean, 0.0), part = x_ / count;
    error_ = std::sqrt(2.0 * variance * part) + 3.0 * cap_ * part;
  }
  std::int64_t count() const { return count_; }
  double cap() const { return cap_; }
  double mean() const { return total_ / static_cast<double>(count_); }
  double error() const { return error_; }
  double lower() const { return mean() - error_; }
  double upper() const { return mean() + error_; }

 private:
  // x = α · ln(3 / d_l), with α the ratio of the next checkpoint to this one.
  void pass_checkpoint() {
    std::int64_t before = next_;
    while (count_ >= next_) {
      before = next_;
      ++level_;
      next_ = std::max(before + 1, static_cast<std::int64_t>(std::floor(std::pow(1.1, level_))));
    }
    const double ratio = static_cast<double>(next_) / static_cast<double>(before);
    x_ = ratio * std::log(3.0 * events_ * 10.5844 * std::pow(level_, 1.1));
  }

  double cap_ = 0.0, events_ = 1.0, total_ = 0.0, squares_ = 0.0, error_ = 1e300, x_ = 0.0;
  std::int64_t count_ = 0, next_ = 1;
  int level_ = 0;
};

}  // namespace capra
