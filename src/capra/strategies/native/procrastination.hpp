// Structured procrastination (Kleinberg, Leyton-Brown & Lucier 2017, Alg. 1), the paper's form.
#pragma once
#include <cmath>
#include <deque>

#include "core.hpp"

namespace capra {

class Procrastination {
 public:
  Procrastination(std::size_t configs, double epsilon, double zeta, double kappa0, double kappa_bar, double factor)
      : epsilon_(epsilon), factor_(factor), order_(configs), states_(configs) {
    beta_n_ = 3.0 * std::log2(kappa_bar / kappa0) * static_cast<double>(configs) / zeta;
    for (State& state : states_) extend(state, queue_length(1.0), kappa0);  // l. 2–7
  }

  std::optional<Step> wanted() const {
    const std::size_t i = order_.winner();  // l. 10: the least average so far; 0 for who was never run
    if (order_.key(i).first == kInfinity) return std::nullopt;
    const Entry& next = states_[i].queue.front();
    return Step{static_cast<std::int64_t>(i), next.column, next.cap};
  }

  void take(double value, bool done) {
    const std::size_t i = order_.winner();
    State& state = states_[i];
    const Entry run = state.queue.front();  // l. 11
    state.queue.pop_front();
    double& known = state.times[static_cast<std::size_t>(run.column)];
    if (known == 0.0) state.least = queue_length(static_cast<double>(++state.begun));  // l. 12–13
    const double time = done ? value : run.cap;
    state.sum += time - known;
    known = time;                                                                    // l. 15–17
    if (!done) state.queue.push_back({run.column, factor_ * run.cap});               // l. 18
    while (state.queue.size() < state.least) {                                       // l. 20: new instances at this cap
      state.queue.push_front({static_cast<std::int64_t>(state.times.size()), run.cap});
      state.times.push_back(0.0);
    }
    order_.set(i, state.sum / static_cast<double>(state.begun));
    if (answer_ == i || answer_ == kNone || state.sum > states_[answer_].sum) answer_ = i;
  }

  Steps ahead(std::size_t count) const {
    const std::vector<std::size_t> ranking = order_.ranking(count);
    Steps found;
    for (std::size_t depth = 0; found.size() < count; ++depth) {
      const std::size_t before = found.size();
      for (const std::size_t i : ranking)
        if (depth < states_[i].queue.size() && found.size() < count) {
          const Entry& entry = states_[i].queue[depth];
          found.push_back({static_cast<std::int64_t>(i), entry.column, entry.cap});
        }
      if (found.size() == before) break;
    }
    return found;
  }

  void exclude(std::size_t i) {
    if (i >= states_.size()) return;
    order_.set(i, kInfinity);
    states_[i].sum = -kInfinity;
    answer_ = kNone;
    for (std::size_t other = 0; other < states_.size(); ++other)
      if (states_[other].sum > 0.0 && (answer_ == kNone || states_[other].sum > states_[answer_].sum)) answer_ = other;
  }

  // l. 21: who was run longest.
  std::int64_t answer() const { return answer_ == kNone ? -1 : static_cast<std::int64_t>(answer_); }

  // δ of the promise that holds now (Thm. 3.4): the share of instances that the answer has not finished, and some.
  double gap() const {
    if (answer_ == kNone) return kInfinity;
    const State& state = states_[answer_];
    return std::sqrt(1.0 + epsilon_) * static_cast<double>(state.least) / static_cast<double>(state.begun);
  }

  std::vector<std::pair<std::int64_t, double>> queue(std::size_t i) const {
    std::vector<std::pair<std::int64_t, double>> found;
    for (const Entry& entry : states_[i].queue) found.emplace_back(entry.column, entry.cap);
    return found;
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  struct Entry {
    std::int64_t column;
    double cap;
  };
  struct State {
    std::deque<Entry> queue;
    std::vector<double> times;  // R(i, l): the time, or the longest cap so far; 0 = never run
    double sum = 0.0;
    std::int64_t begun = 0;   // k_i
    std::size_t least = 0;    // q_i
  };

  std::size_t queue_length(double begun) const {
    return static_cast<std::size_t>(std::ceil(12.0 / (epsilon_ * epsilon_) * std::log(beta_n_ * begun * begun)));
  }
  static void extend(State& state, std::size_t count, double cap) {
    for (std::size_t l = 0; l < count; ++l) state.queue.push_back({static_cast<std::int64_t>(l), cap});
    state.times.assign(count, 0.0);
  }

  double epsilon_, factor_, beta_n_;
  Tournament order_;
  std::vector<State> states_;
  std::size_t answer_ = kNone;
};

}  // namespace capra
