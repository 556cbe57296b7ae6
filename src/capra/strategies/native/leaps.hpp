// LeapsAndBounds (Weisz, György & Szepesvári 2018, Alg. 1, with the estimates of its appendix D).
#pragma once
#include <cmath>

#include "bernstein.hpp"
#include "core.hpp"

namespace capra {

class LeapsAndBounds {
 public:
  LeapsAndBounds(std::size_t configs, double epsilon, double delta, double zeta, double kappa0, double multiplier)
      : n_(static_cast<double>(configs)), epsilon_(epsilon), delta_(delta), zeta_(zeta), multiplier_(multiplier),
        theta_(16.0 / 7.0 * kappa0), means_(configs), out_(configs, false) {
    enter_phase();
  }

  std::optional<Step> wanted() const {
    if (is_over_) return std::nullopt;
    return Step{static_cast<std::int64_t>(i_), estimate_.count(), std::min(left_, cap())};
  }

  // RuntimeEst: the capped mean of configuration i, or θ where it is not below θ.
  void take(double value, bool done) {
    const double time = done ? value : wanted()->cap;
    left_ -= time;
    if (left_ <= 0.0) return settle(theta_);  // b runs took more than b · θ: the mean is above θ
    estimate_.add(time);
    const double mean = estimate_.mean(), m = static_cast<double>(estimate_.count());
    if ((1.0 + 3.0 * epsilon_ / 7.0) * estimate_.lower() > theta_ && mean > theta_) return settle(theta_);
    // The second condition is that of the paper on CapsAndRuns, which corrects the first code.
    const bool is_close = m > 1.0 && estimate_.error() <= epsilon_ * mean / (2.0 + 2.0 * epsilon_);
    if (is_close && m >= 32.0 * std::log(events() * (m - 1.0) * m) / delta_) return settle(mean);
    if (estimate_.count() == b_) settle(mean);
  }

  Steps ahead(std::size_t count) const {
    Steps found;
    if (is_over_) return found;
    found.push_back(*wanted());
    const Step first = found[0];
    for (std::int64_t depth = 1; found.size() < (count + 1) / 2; ++depth) found.push_back({first.config, first.column + depth, cap()});
    for (std::int64_t column = 0; column < 64; ++column)
      for (std::size_t i = i_ + 1; i < out_.size() && found.size() < count; ++i)
        if (!out_[i]) found.push_back({static_cast<std::int64_t>(i), column, cap()});
    for (std::int64_t depth = static_cast<std::int64_t>(count); found.size() < count; ++depth)
      found.push_back({first.config, first.column + depth, cap()});
    return found;
  }

  void exclude(std::size_t i) {
    if (i >= out_.size()) return;
    out_[i] = true;
    means_[i] = kInfinity;
    if (answer_ == static_cast<std::int64_t>(i)) answer_ = -1;
    if (!is_over_ && i == i_) settle(kInfinity);
  }

  std::int64_t answer() const { return answer_; }
  double theta() const { return theta_; }
  double gap() const { return kInfinity; }

 private:
  double cap() const { return 4.0 * theta_ / (3.0 * delta_); }
  double events() const { return 120.0 * n_ * phase_ * (phase_ + 1.0) / zeta_; }

  void enter_phase() {
    ++phase_;
    b_ = static_cast<std::int64_t>(std::ceil(44.0 * std::log(events()) / (delta_ * epsilon_ * epsilon_)));
    i_ = 0;
    begin();
  }
  void begin() {
    while (i_ < out_.size() && out_[i_]) ++i_;
    if (i_ == out_.size()) return end_phase();
    left_ = static_cast<double>(b_) * theta_;
    estimate_ = Estimate(cap(), 2.1 * 2.61238 * std::pow(phase_, 1.5) * n_ / zeta_);
  }
  void settle(double mean) {
    means_[i_++] = mean;
    begin();
  }
  // Somebody is below the guess: done. Else guess higher.
  void end_phase() {
    const auto best = std::min_element(means_.begin(), means_.end());
    is_over_ = *best < theta_ || *best == kInfinity;
    if (*best < theta_) answer_ = best - means_.begin();
    if (is_over_) return;
    theta_ *= multiplier_;
    enter_phase();
  }

  double n_, epsilon_, delta_, zeta_, multiplier_, theta_;
  double phase_ = 0.0, left_ = 0.0;
  std::int64_t b_ = 0, answer_ = -1;
  std::size_t i_ = 0;
  Estimate estimate_;
  std::vector<double> means_;
  std::vector<bool> out_;
  bool is_over_ = false;
};

}  // namespace capra
