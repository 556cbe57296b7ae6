// Structured procrastination with confidence (Kleinberg, Leyton-Brown, Lucier & Graham 2019, Alg. 1 and §3).
#pragma once
#include <cmath>
#include <deque>

#include "core.hpp"

namespace capra {

constexpr double kResolution = 0.001;  // times are rounded down to it, so that few values differ and bounds stay bounds

class Confidence {
 public:
  Confidence(std::size_t configs, double kappa0, double factor) : factor_(factor), order_(configs), states_(configs) {
    for (State& state : states_) state.cap = kappa0;
    for (std::size_t i = 0; i < configs; ++i) order_.set(i, -1.0);  // who was never run comes first
  }

  std::optional<Step> wanted() const {
    const std::size_t i = order_.winner();
    if (order_.key(i).first == kInfinity) return std::nullopt;
    return next(i, 0);
  }

  void take(double value, bool done) {
    const std::size_t i = order_.winner();
    State& state = states_[i];
    const Step run = *next(i, 0);
    if (run.column == state.begun) {  // fewer than q_i wait: a new instance at the current cap
      ++state.begun;
      state.times.push_back(0.0);
    } else {
      state.queue.pop_front();
      state.cap = run.cap;
    }
    if (!done) state.queue.push_back({run.column, factor_ * run.cap});
    replace(state, static_cast<std::size_t>(run.column), done ? value : run.cap);
    ++steps_;
    if (state.begun > 1 && steps_ > 2)
      state.least = std::ceil(25.0 * std::log2(static_cast<double>(steps_) * std::log2(static_cast<double>(state.begun))));
    else
      state.least = 25.0;
    if (--state.fresh <= 0) refresh(i);
    else order_.set(i, order_.key(i).first, mean(state));
    // Bounds sink with ln t. One of an earlier t is still a bound: all are renewed when ln t has moved by a hundredth.
    if (steps_ > renewed_ + renewed_ / 100 + 1000) renew();
  }

  Steps ahead(std::size_t count) const {
    const std::vector<std::size_t> ranking = order_.ranking(count);
    Steps found;
    for (std::int64_t depth = 0; found.size() < count; ++depth) {
      const std::size_t before = found.size();
      for (const std::size_t i : ranking)
        if (const auto step = found.size() < count ? next(i, depth) : std::nullopt) found.push_back(*step);
      if (found.size() == before) break;
    }
    return found;
  }

  void exclude(std::size_t i) {
    if (i >= states_.size()) return;
    order_.set(i, kInfinity);
    states_[i].excluded = true;
  }

  // Who has begun most instances. While some bound is still 0 that says nothing: then the least mean of those who have begun
  // at least half as many.
  std::int64_t answer() const {
    std::int64_t most = 0;
    for (const State& state : states_)
      if (!state.excluded) most = std::max(most, state.begun);
    const std::int64_t least = order_.key(order_.winner()).first > 0.0 ? most : std::max<std::int64_t>(most / 2, 1);
    std::int64_t best = -1;
    for (std::size_t i = 0; i < states_.size(); ++i)
      if (!states_[i].excluded && states_[i].begun >= least &&
          (best < 0 || mean(states_[i]) < mean(states_[static_cast<std::size_t>(best)])))
        best = static_cast<std::int64_t>(i);
    return best;
  }

  double gap() const { return kInfinity; }
  double bound(std::size_t i) const { return lower(states_[i]); }
  std::int64_t begun(std::size_t i) const { return states_[i].begun; }
  std::int64_t steps() const { return steps_; }
  bool is_out(std::size_t i) const { return states_[i].excluded; }
  // Below this time, rounded like all others, every begun instance is known: nothing was put off there. Infinite if nothing waits.
  double known_below(std::size_t i) const {
    double least = kInfinity;
    for (const Entry& entry : states_[i].queue) least = std::min(least, rounded(entry.cap / factor_));
    return least;
  }
  // The distinct times so far, and how often each was seen.
  std::pair<std::vector<double>, std::vector<std::int64_t>> seen(std::size_t i) const {
    return {states_[i].values, states_[i].counts};
  }

 private:
  struct Entry {
    std::int64_t column;
    double cap;
  };
  struct State {
    std::deque<Entry> queue;
    std::vector<double> times;          // of the begun instances: the time, or the longest cap so far
    std::vector<double> values;         // the distinct ones, ascending
    std::vector<std::int64_t> counts;   // how often
    double cap = 0.0, least = 1.0, sum = 0.0;
    std::int64_t begun = 0;             // r_i
    std::int64_t fresh = 0;             // so many steps until the bound is computed again
    bool excluded = false;
  };

  std::optional<Step> next(std::size_t i, std::int64_t depth) const {
    const State& state = states_[i];
    const auto waiting = static_cast<std::int64_t>(state.queue.size());
    if (static_cast<double>(waiting) < state.least) return Step{static_cast<std::int64_t>(i), state.begun + depth, state.cap};
    if (depth >= waiting) return std::nullopt;
    const Entry& entry = state.queue[static_cast<std::size_t>(depth)];
    return Step{static_cast<std::int64_t>(i), entry.column, entry.cap};
  }

  static double mean(const State& state) { return state.sum / static_cast<double>(std::max<std::int64_t>(state.begun, 1)); }

  static double rounded(double time) { return std::max(kResolution, std::floor(time / kResolution + 1e-6) * kResolution); }

  static void replace(State& state, std::size_t column, double value) {
    const double time = rounded(value);
    double& known = state.times[column];
    if (known > 0.0) {
      const auto at = static_cast<std::size_t>(std::lower_bound(state.values.begin(), state.values.end(), known) -
                                               state.values.begin());
      if (--state.counts[at] == 0) {
        state.values.erase(state.values.begin() + static_cast<std::ptrdiff_t>(at));
        state.counts.erase(state.counts.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
    state.sum += time - known;
    known = time;
    const auto place = std::lower_bound(state.values.begin(), state.values.end(), time);
    const auto at = place - state.values.begin();
    if (place != state.values.end() && *place == time) {
      ++state.counts[static_cast<std::size_t>(at)];
    } else {
      state.values.insert(place, time);
      state.counts.insert(state.counts.begin() + at, 1);
    }
  }

  // LCB = Σ (v_j − v_{j−1}) · β(1 − Ĝ(v_{j−1})), β(p) = p / (1 + e) while e = sqrt(9 · 2^k · ln(k t) / r) ≤ 1/2, k = ⌊log2 1/p⌋.
  double lower(const State& state) const {
    const auto begun = static_cast<double>(state.begun), t = static_cast<double>(std::max<std::int64_t>(steps_, 1));
    double bound = 0.0, last = 0.0, error = 0.0;
    std::int64_t left = state.begun;
    int level = -1;
    for (std::size_t j = 0; j < state.values.size(); ++j) {
      const double p = static_cast<double>(left) / begun;
      if (const int k = -std::ilogb(p) - (std::scalbn(1.0, std::ilogb(p)) == p ? 0 : 1); k != level) {
        level = k;
        error = std::sqrt(9.0 * std::scalbn(1.0, k) * std::log(std::max(k, 1) * t) / begun);
        if (error > 0.5) break;  // and for every smaller p
      }
      bound += (state.values[j] - last) * p / (1.0 + error);
      last = state.values[j];
      left -= state.counts[j];
    }
    return bound;
  }

  void refresh(std::size_t i) {
    State& state = states_[i];
    state.fresh = state.begun / 64;
    if (!state.excluded) order_.set(i, state.begun == 0 ? -1.0 : lower(state), mean(state));
  }
  void renew() {
    renewed_ = steps_;
    for (std::size_t i = 0; i < states_.size(); ++i) refresh(i);
  }

  double factor_;
  Tournament order_;
  std::vector<State> states_;
  std::int64_t steps_ = 0, renewed_ = 0;
};

}  // namespace capra
