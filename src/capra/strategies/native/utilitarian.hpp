// Utilitarian procrastination: UP (Graham, Leyton-Brown & Roughgarden 2023), OUP and COUP (Graham & Leyton-Brown 2025).
//
// A cell's value is its utility u(time). Caps are κ0 · 2^level; worth[level] is u of the cap.
#pragma once
#include <cmath>

#include "core.hpp"

namespace capra {

// What the three have in common: the configurations' estimates, and one configuration whose runs are being made.
class Utilitarian {
 public:
  Utilitarian(std::size_t configs, double delta, double kappa0, std::vector<double> worth)
      : delta_(delta), kappa0_(kappa0), worth_(std::move(worth)), states_(configs) {}
  virtual ~Utilitarian() = default;

  std::optional<Step> wanted() const {
    if (finished_) return std::nullopt;
    return Step{static_cast<std::int64_t>(current_), todo_[place_], cap(current_)};
  }

  void take(double value, bool done) {
    State& state = states_[current_];
    if (done) {
      ++state.solved;
      state.sum += value;
    } else {
      state.unsolved.push_back(todo_[place_]);
    }
    if (++place_ < todo_.size()) return;
    estimate(state);
    go_on();
  }

  Steps ahead(std::size_t count) const {
    Steps found;
    if (finished_) return found;
    for (std::size_t at = place_; at < todo_.size() && found.size() < count; ++at)
      found.push_back({static_cast<std::int64_t>(current_), todo_[at], cap(current_)});
    const std::vector<std::size_t> ranking = candidates(count);
    for (std::int64_t depth = 0; depth < 64 && found.size() < count; ++depth)
      for (const std::size_t i : ranking)
        if (found.size() < count && (i != current_ || depth > 0))
          found.push_back({static_cast<std::int64_t>(i), states_[i].begun + depth - (i == current_ ? 1 : 0), cap(i)});
    return found;
  }

  // A number that is not compared yet is excluded when it is wanted.
  void exclude(std::size_t i) {
    if (i >= states_.size()) return;
    states_[i].upper = states_[i].lower = -kInfinity;
    states_[i].excluded = true;
    excluded(i);
    if (!finished_ && i == current_) go_on();
  }

  // The greatest lower bound; among equals the greatest mean.
  std::int64_t answer() const {
    std::int64_t best = -1;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (states_[i].excluded || states_[i].begun == 0) continue;
      const State* other = best < 0 ? nullptr : &states_[static_cast<std::size_t>(best)];
      if (!other || std::make_pair(states_[i].lower, mean(states_[i])) > std::make_pair(other->lower, mean(*other)))
        best = static_cast<std::int64_t>(i);
    }
    return best;
  }

  // ε*: nobody's mean utility is more than this above the answer's.
  virtual double gap() const = 0;
  std::size_t configs() const { return states_.size(); }
  std::pair<double, double> bounds(std::size_t i) const { return {states_[i].lower, states_[i].upper}; }
  std::tuple<std::int64_t, double, double> sample(std::size_t i) const {
    const State& state = states_[i];
    return {state.begun, cap(i), state.begun > 0 ? share(state) : 0.0};
  }

 protected:
  struct State {
    std::int64_t begun = 0, solved = 0;  // m_i and how many of them ended below the cap
    int level = 0;
    double sum = 0.0;                    // utilities of those
    std::vector<std::int64_t> unsolved;
    double alpha = 1.0, upper = 1.0, lower = 0.0;
    bool excluded = false;
  };

  // The runs of the next round of configuration i: its next column; all that did not end as well, if the cap is to be doubled.
  void begin(std::size_t i) {
    State& state = states_[i];
    current_ = i;
    place_ = 0;
    todo_.clear();
    if (state.begun > 0 && is_cap_to_blame(state)) {
      state.level = std::min(state.level + 1, static_cast<int>(worth_.size()) - 1);
      todo_.swap(state.unsolved);
    }
    todo_.push_back(state.begun++);
  }

  // Double the cap when it, and not the number of runs, dominates the error: 2 (1 − u(κ)) α ≤ u(κ) (1 − F̂ + α).
  bool is_cap_to_blame(const State& state) const {
    const double u = worth_[static_cast<std::size_t>(state.level)];
    return 2.0 * (1.0 - u) * state.alpha <= u * (1.0 - share(state) + state.alpha);
  }

  void estimate(State& state) const {
    const double u = worth_[static_cast<std::size_t>(state.level)];
    const double reach = std::log2(std::scalbn(1.0, state.level)) + 1.0, m = static_cast<double>(state.begun);
    state.alpha = std::min(1.0, std::sqrt(std::log(events() * m * m * reach * reach / delta_) / (2.0 * m)));
    state.upper = std::min(state.upper, mean(state) + (1.0 - u) * state.alpha);
    state.lower = std::max(state.lower, mean(state) - state.alpha - u * (1.0 - share(state)));
  }

  double mean(const State& state) const {
    const double cut = static_cast<double>(state.unsolved.size()) * worth_[static_cast<std::size_t>(state.level)];
    const auto known = static_cast<double>(state.solved + static_cast<std::int64_t>(state.unsolved.size()));
    return known > 0.0 ? (state.sum + cut) / known : 0.0;
  }
  static double share(const State& state) { return static_cast<double>(state.solved) / static_cast<double>(state.begun); }
  double cap(std::size_t i) const { return std::scalbn(kappa0_, states_[i].level); }

  // 4 · Σ over all events that must hold at once, without m, κ and δ.
  virtual double events() const { return 4.0 * 2.705808 * static_cast<double>(states_.size()); }
  // Choose the next configuration and begin(), or finish.
  virtual void go_on() = 0;
  virtual void excluded(std::size_t i) = 0;
  virtual std::vector<std::size_t> candidates(std::size_t count) const = 0;

  double delta_, kappa0_;
  std::vector<double> worth_;
  std::vector<State> states_;
  std::size_t current_ = 0, place_ = 0;
  std::vector<std::int64_t> todo_;
  bool finished_ = false;
};

// UP: everybody who may still be best is run on the next column.
class Up : public Utilitarian {
 public:
  Up(std::size_t configs, double delta, double kappa0, std::vector<double> worth, double epsilon)
      : Utilitarian(configs, delta, kappa0, std::move(worth)), epsilon_(epsilon) {
    for (std::size_t i = 0; i < configs; ++i) alive_.push_back(i);
    begin(0);
  }
  double gap() const override { return gap_; }
  std::size_t alive() const { return alive_.size(); }

 private:
  void go_on() override {
    while (++at_ < alive_.size())
      if (!states_[alive_[at_]].excluded) return begin(alive_[at_]);
    end_round();
    at_ = 0;
    finished_ = alive_.size() < 2 || gap_ <= epsilon_;
    if (!finished_) begin(alive_[0]);
  }
  void end_round() {
    double lower = -kInfinity, upper = -kInfinity;
    for (const std::size_t i : alive_) lower = std::max(lower, states_[i].lower);
    const auto is_out = [&](std::size_t i) { return states_[i].excluded || states_[i].upper < lower; };
    alive_.erase(std::remove_if(alive_.begin(), alive_.end(), is_out), alive_.end());
    for (const std::size_t i : alive_) upper = std::max(upper, states_[i].upper);
    if (alive_.size() < 2) upper = lower = 0.0;  // nobody else can be better
    gap_ = upper - lower;
  }
  void excluded(std::size_t) override {}
  std::vector<std::size_t> candidates(std::size_t count) const override {
    std::vector<std::size_t> found;
    for (std::size_t at = at_ + 1; at < alive_.size() && found.size() < count; ++at) found.push_back(alive_[at]);
    return found;
  }

  double epsilon_, gap_ = 1.0;
  std::vector<std::size_t> alive_;
  std::size_t at_ = 0;
};

// OUP: who has the greatest upper bound is run next.
class Oup : public Utilitarian {
 public:
  Oup(std::size_t configs, double delta, double kappa0, std::vector<double> worth, double epsilon)
      : Utilitarian(configs, delta, kappa0, std::move(worth)), epsilon_(epsilon), order_(configs) {
    for (std::size_t i = 0; i < configs; ++i) order_.set(i, -1.0);
    if (configs > 0) begin(order_.winner());
  }
  double gap() const override { return -order_.key(order_.winner()).first - best_; }

 protected:
  void go_on() override {
    order_.set(current_, -states_[current_].upper);
    best_ = std::max(best_, states_[current_].lower);
    next();
  }
  void next() {
    finished_ = is_over();
    if (!finished_) begin(order_.winner());
  }
  virtual bool is_over() { return !(gap() > epsilon_) || order_.key(order_.winner()).first == kInfinity; }
  void excluded(std::size_t i) override {
    order_.set(i, kInfinity);
    best_ = 0.0;
    for (const State& state : states_) best_ = std::max(best_, state.lower);
  }
  std::vector<std::size_t> candidates(std::size_t count) const override { return order_.ranking(count); }

  double epsilon_;
  Tournament order_;
  double best_ = 0.0;
};

// COUP: OUP over a sample that grows from phase to phase, p = 1, 2, …, with ε(p) = γ(p) = exp(−p / pace). The first `given`
// configurations are no samples, and of the others one in `each`; all of them count in the bounds.
class Coup : public Oup {
 public:
  Coup(std::size_t most, double delta, double kappa0, std::vector<double> worth, double pace, int phases, std::size_t given,
       std::size_t each)
      : Oup(0, delta, kappa0, std::move(worth), 0.0), most_(most), given_(given), each_(each), pace_(pace), phases_(phases) {
    enter();
    begin(order_.winner());
  }
  int phase() const { return phase_; }
  double promise() const { return std::exp(-phase_ / pace_); }

 private:
  bool is_over() override {
    while (gap() < promise()) {
      const bool is_nobody_left = order_.key(order_.winner()).first == kInfinity && states_.size() == most_;
      if (phase_ >= phases_ || is_nobody_left) return true;
      enter();
    }
    return false;
  }
  // The next phase: more configurations, and bounds that hold in all phases at once.
  void enter() {
    ++phase_;
    const double wanted = std::ceil(std::log(9.869604401089358 * phase_ * phase_ / (3.0 * delta_)) / promise());
    const double size = static_cast<double>(given_) + static_cast<double>(each_) * wanted;
    states_.resize(std::max(states_.size(), static_cast<std::size_t>(std::min(size, static_cast<double>(most_)))));
    order_.grow(states_.size());
    best_ = 0.0;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      State& state = states_[i];
      if (!state.excluded) state.upper = 1.0, state.lower = 0.0;
      if (!state.excluded && state.begun > 0) estimate(state);
      order_.set(i, -state.upper);
      best_ = std::max(best_, state.lower);
    }
  }
  double events() const override { return 36.0 * phase_ * phase_ * static_cast<double>(states_.size()); }

  std::size_t most_, given_, each_;
  double pace_;
  int phases_, phase_ = 0;
};

}  // namespace capra
