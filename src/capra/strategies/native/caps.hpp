// CapsAndRuns (Weisz, György & Szepesvári 2019).
#pragma once
#include <cmath>
#include <memory>
#include <queue>
#include <set>
#include <tuple>

#include "bernstein.hpp"
#include "core.hpp"

namespace capra {

// b = ⌈runs · ln(events · n / ζ) / δ⌉ instances in phase I, which is given up at patience · b · T. zeta is what the proof has for
// each of its parts.
struct CapsSettings {
  std::size_t n;
  double epsilon, delta, zeta, kappa0;
  double runs, events, patience;

  std::int64_t b() const {
    return static_cast<std::int64_t>(std::ceil(runs * std::log(events * static_cast<double>(n) / zeta) / delta));
  }
};

// T, the least upper bound of a mean so far, and whose it is.
struct Least {
  double value = kInfinity;
  std::int64_t by = -1;

  void offer(double bound, std::int64_t who) {
    if (bound < value) value = bound, by = who;
  }
};

// The time that `enough` of the first `runs` columns do not exceed, exactly. Rounds with doubling caps: short runs first, and runs
// made again from their beginning take at most twice as long. (The authors' code adds a constant to the cap, and stops within a
// round.)
class CapSearch {
 public:
  CapSearch(std::int64_t runs, std::int64_t enough, double kappa0) : enough_(enough), cap_(kappa0) {
    for (std::int64_t column = 0; column < runs; ++column) waiting_.push_back(column);
  }
  std::int64_t column() const { return waiting_[place_]; }
  double cap() const { return cap_; }
  bool is_over() const { return tau_ > 0.0; }
  double tau() const { return tau_; }

  // Returns the time that this run took beyond its last one.
  double take(double time, bool done) {
    const double used = time - before_;
    if (done) times_.push_back(time);
    else put_off_.push_back(waiting_[place_]);
    if (++place_ == waiting_.size()) end_round();
    return used;
  }

 private:
  void end_round() {
    if (static_cast<std::int64_t>(times_.size()) >= enough_) {
      const auto place = times_.begin() + (enough_ - 1);
      std::nth_element(times_.begin(), place, times_.end());
      tau_ = *place;
      return;
    }
    waiting_.swap(put_off_);
    put_off_.clear();
    place_ = 0;
    before_ = cap_;
    cap_ *= 2.0;
  }

  std::int64_t enough_;
  double cap_, before_ = 0.0, tau_ = 0.0;
  std::size_t place_ = 0;
  std::vector<std::int64_t> waiting_, put_off_;
  std::vector<double> times_;
};

// One configuration: phase I finds its own cap, phase II its capped mean.
class Trial {
 public:
  Trial(std::int64_t config, const CapsSettings& settings, Least& least, bool pause)
      : config(config), b_(settings.b()), settings_(settings), least_(least), pause_(pause),
        search_(b_, static_cast<std::int64_t>(std::ceil(static_cast<double>(b_) * (1.0 - 0.75 * settings.delta))),
                settings.kappa0) {}

  Step wish() const {
    if (!is_second()) return {config, search_.column(), search_.cap()};
    return {config, b_ + estimate_.count(), estimate_.cap()};
  }
  void take(double time, bool done) { is_second() ? take_second(time) : take_first(time, done); }

  double lower() const { return is_second() && estimate_.count() > 1 ? estimate_.lower() : 0.0; }
  bool is_active() const { return !is_over && !is_paused; }
  void resume() { is_paused = false; }

  const std::int64_t config;
  double work = 0.0;           // its time so far
  double result = kInfinity;   // its capped mean, once that is known well enough
  bool is_over = false, is_paused = false;

 private:
  bool is_second() const { return search_.is_over(); }

  void take_first(double time, bool done) {
    work += search_.take(time, done);
    if (work >= settings_.patience * static_cast<double>(b_) * least_.value) is_over = true;  // reject
    else if (search_.is_over()) estimate_ = Estimate(search_.tau(), static_cast<double>(settings_.n) / settings_.zeta);
  }
  void take_second(double time) {
    work += time;
    estimate_.add(time);
    if (estimate_.count() < 2) return;
    least_.offer(estimate_.upper(), config);
    if (estimate_.count() == b_ + 1) least_.offer(2.0 * estimate_.mean(), config);
    if (estimate_.lower() > least_.value) {
      is_over = true;  // reject
    } else if (estimate_.error() <= settings_.epsilon / 3.0 * (estimate_.mean() + estimate_.lower())) {
      is_over = true;  // accept
      result = estimate_.mean();
    } else if (pause_ && estimate_.count() > b_) {
      pause_ = false;
      is_paused = true;
    }
  }

  std::int64_t b_;
  const CapsSettings& settings_;
  Least& least_;
  bool pause_;
  CapSearch search_;
  Estimate estimate_;
};

using Trials = std::vector<std::shared_ptr<Trial>>;

// All trials advance in parallel: the one with the least work goes on.
class Race {
 public:
  Race() = default;
  // to_the_last: otherwise it ends when one is left and everybody else is known to be worse than T.
  Race(Trials trials, const Least& least, bool to_the_last) : trials_(std::move(trials)), least_(&least), to_the_last_(to_the_last) {
    for (const auto& trial : trials_)
      if (trial->is_active()) push(trial);
    settle();
  }
  bool is_over() const { return !current_; }
  const Trials& trials() const { return trials_; }
  Step wish() const { return current_->wish(); }
  void take(double time, bool done) {
    current_->take(time, done);
    settle();
  }
  // Somebody is out.
  void settle() {
    if (current_ && current_->is_active()) push(current_);
    current_ = nullptr;
    while (!order_.empty()) {
      const auto trial = std::get<2>(order_.top());
      order_.pop();
      if (!trial->is_active()) continue;
      if (order_.empty() && !to_the_last_ && is_alone(*trial)) return;
      current_ = trial;
      return;
    }
  }
  // Who has the least mean; the one that is left, where all others are worse.
  std::int64_t best(const std::set<std::int64_t>& out) const {
    const Trial* found = nullptr;
    for (const auto& trial : trials_) {
      if (out.count(trial->config)) continue;
      if (!trial->is_over) return trial->config;
      if (trial->result < kInfinity && (!found || trial->result < found->result)) found = trial.get();
    }
    return found ? found->config : -1;
  }
  // What is likely to be wanted: the next runs of all, least work first, then those after them.
  Steps ahead(std::size_t count) const {
    std::vector<const Trial*> left;
    for (const auto& trial : trials_)
      if (trial->is_active()) left.push_back(trial.get());
    std::stable_sort(left.begin(), left.end(), [](const Trial* a, const Trial* b) { return a->work < b->work; });
    Steps found;
    if (current_) found.push_back(wish());
    for (std::int64_t depth = 0; depth < 64 && found.size() < count; ++depth)
      for (const Trial* trial : left) {
        const Step step = trial->wish();
        if (found.size() < count && (depth > 0 || trial != current_.get()))
          found.push_back({step.config, step.column + depth, step.cap});
      }
    return found;
  }

 private:
  using Entry = std::tuple<double, std::int64_t, std::shared_ptr<Trial>>;

  void push(const std::shared_ptr<Trial>& trial) { order_.emplace(trial->work, trial->config, trial); }
  bool is_alone(const Trial& last) const {
    return std::all_of(trials_.begin(), trials_.end(),
                       [&](const auto& trial) { return trial.get() == &last || trial->lower() > least_->value; });
  }

  Trials trials_;
  const Least* least_ = nullptr;
  bool to_the_last_ = true;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> order_;
  std::shared_ptr<Trial> current_;
};

// CapsAndRuns over configurations 0, …, n − 1.
class CapsAndRuns {
 public:
  explicit CapsAndRuns(const CapsSettings& settings) : settings_(std::make_unique<CapsSettings>(settings)) {
    Trials trials;
    for (std::size_t i = 0; i < settings.n; ++i)
      trials.push_back(std::make_shared<Trial>(static_cast<std::int64_t>(i), *settings_, *least_, false));
    race_ = Race(trials, *least_, false);
  }
  std::optional<Step> wanted() const { return race_.is_over() ? std::nullopt : std::optional<Step>(race_.wish()); }
  void take(double value, bool done) { race_.take(done ? value : race_.wish().cap, done); }
  Steps ahead(std::size_t count) const { return race_.is_over() ? Steps{} : race_.ahead(count); }
  void exclude(std::size_t i) {
    if (i >= race_.trials().size()) return;
    out_.insert(static_cast<std::int64_t>(i));
    race_.trials()[i]->is_over = true;
    race_.trials()[i]->result = kInfinity;
    race_.settle();
  }
  std::int64_t answer() const {
    if (is_sure()) return race_.best(out_);
    return out_.count(least_->by) ? -1 : least_->by;
  }
  bool is_sure() const { return race_.is_over(); }
  double least() const { return least_->value; }
  double gap() const { return kInfinity; }

 private:
  std::unique_ptr<CapsSettings> settings_;
  std::unique_ptr<Least> least_ = std::make_unique<Least>();
  std::set<std::int64_t> out_;
  Race race_;
};

}  // namespace capra
