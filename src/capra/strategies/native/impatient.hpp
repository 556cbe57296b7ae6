// ImpatientCapsAndRuns (Weisz et al. 2020).
#pragma once
#include <cmath>
#include <memory>
#include <set>

#include "caps.hpp"

namespace capra {

// A few runs that tell whether a configuration may be as good as T: a cap that 80 % of them do not exceed, then the mean of as
// many fresh ones, capped there. Gives up at 1.9 and 2.99 times T per run.
class PreCheck {
 public:
  PreCheck(std::int64_t config, std::size_t levels, double zeta, double kappa0, double least)
      : config_(config), runs_(static_cast<std::int64_t>(std::ceil(32.1 * std::log(2.0 * static_cast<double>(levels) / zeta)))),
        least_(least), x_(std::log(3.0 * static_cast<double>(levels) / zeta)),
        search_(runs_, static_cast<std::int64_t>(std::ceil(0.8 * static_cast<double>(runs_))), kappa0) {}

  Step wish() const {
    if (!search_.is_over()) return {config_, search_.column(), search_.cap()};
    return {config_, runs_ + count_, search_.tau()};
  }
  void take(double time, bool done) {
    const auto runs = static_cast<double>(runs_);
    if (!search_.is_over()) {
      work_ += search_.take(time, done);
      if (work_ >= 1.9 * runs * least_) is_over = true;
      return;
    }
    ++count_;
    total_ += time;
    squares_ += time * time;
    if (count_ < runs_ && total_ <= 2.99 * runs * least_) return;
    const auto count = static_cast<double>(count_);
    const double mean = total_ / count, variance = std::max(squares_ / count - mean * mean, 0.0);
    has_passed = mean - std::sqrt(2.0 * variance * x_ / count) - 3.0 * search_.tau() * x_ / count <= least_;  // Bernstein
    is_over = true;
  }
  std::int64_t config() const { return config_; }
  bool is_over = false, has_passed = false;

 private:
  std::int64_t config_, runs_, count_ = 0;
  double least_, x_, work_ = 0.0, total_ = 0.0, squares_ = 0.0;
  CapSearch search_;
};

// ImpatientCapsAndRuns: level by level more configurations, of which most fail the check; those that pass are raced until T is
// known to a constant, and at the end everybody who passes again is raced out.
class Impatient {
 public:
  Impatient(std::vector<std::size_t> sizes, const CapsSettings& settings)
      : sizes_(std::move(sizes)), settings_(std::make_unique<CapsSettings>(settings)) {
    enter_level();
  }
  std::optional<Step> wanted() const {
    if (is_sure_) return std::nullopt;
    return check_ ? check_->wish() : race_.wish();
  }
  void take(double value, bool done) {
    const double time = done ? value : wanted()->cap;
    if (check_) check_->take(time, done);
    else race_.take(time, done);
    go_on();
  }
  Steps ahead(std::size_t count) const {
    if (is_sure_ || !check_) return is_sure_ ? Steps{} : race_.ahead(count);
    Steps found{check_->wish()};
    for (std::int64_t depth = 1; depth < 32 && found.size() < count; ++depth)
      found.push_back({found[0].config, found[0].column + depth, found[0].cap});
    for (std::size_t place = place_ + 1; place < checked_.size() && found.size() < count; ++place)
      found.push_back({checked_[place], 0, settings_->kappa0});
    return found;
  }
  void exclude(std::size_t i) {
    const auto config = static_cast<std::int64_t>(i);
    out_.insert(config);
    for (const Trials& trials : {all_, race_.trials()})
      for (const auto& trial : trials)
        if (trial->config == config) trial->is_over = true, trial->result = kInfinity;
    if (is_sure_) return;
    if (check_ && check_->config() == config) check_->is_over = true;
    if (!check_) race_.settle();
    go_on();
  }
  std::int64_t answer() const {
    if (is_sure_) return race_.best(out_);
    return out_.count(least_->by) ? -1 : least_->by;
  }
  bool is_sure() const { return is_sure_; }
  double least() const { return least_->value; }
  double gap() const { return kInfinity; }
  std::size_t kept() const { return kept_; }

 private:
  void enter_level() {
    checked_.clear();
    for (; begun_ < static_cast<std::int64_t>(sizes_[level_]); ++begun_)
      if (!out_.count(begun_)) checked_.push_back(begun_);
    start(level_ > 0 && least_->value < kInfinity);
  }
  void enter_end() {
    checked_.clear();
    for (std::int64_t i = 0; i < begun_; ++i)
      if (!out_.count(i)) checked_.push_back(i);
    start(true);
  }
  // Begin the checks of a stage, or let everybody pass.
  void start(bool is_checking) {
    passed_.clear();
    place_ = 0;
    if (!is_checking) {
      passed_ = checked_;
      place_ = checked_.size();
    }
    next_check();
    go_on();
  }
  void next_check() {
    check_.reset();
    for (; place_ < checked_.size(); ++place_) {
      if (out_.count(checked_[place_])) continue;
      if (checked_[place_] != least_->by) {
        check_ = std::make_unique<PreCheck>(checked_[place_], sizes_.size(), settings_->zeta, settings_->kappa0, least_->value);
        return;
      }
      passed_.push_back(checked_[place_]);  // whose bound T is need not be checked
    }
    start_race();
  }
  void start_race() {
    Trials trials;
    const bool is_last = level_ == sizes_.size();
    for (const std::int64_t config : passed_) {
      if (out_.count(config)) continue;
      if (!is_last) {
        trials.push_back(std::make_shared<Trial>(config, *settings_, *least_, true));
      } else if (const auto trial = known(config)) {
        trial->resume();
        trials.push_back(trial);
      }
    }
    if (is_last) kept_ = trials.size();
    else all_.insert(all_.end(), trials.begin(), trials.end());
    race_ = Race(trials, *least_, !is_last);
  }
  std::shared_ptr<Trial> known(std::int64_t config) const {
    for (const auto& trial : all_)
      if (trial->config == config) return trial;
    return nullptr;
  }
  // Whatever is over leads to what comes next, until a run is wanted or all is done.
  void go_on() {
    while (!is_sure_) {
      if (check_) {
        if (!check_->is_over) return;
        if (check_->has_passed) passed_.push_back(check_->config());
        ++place_;
        next_check();
        continue;
      }
      if (!race_.is_over()) return;
      if (level_ == sizes_.size()) {
        is_sure_ = true;
        return;
      }
      ++level_;
      return level_ < sizes_.size() ? enter_level() : enter_end();
    }
  }

  std::vector<std::size_t> sizes_;
  std::unique_ptr<CapsSettings> settings_;
  std::unique_ptr<Least> least_ = std::make_unique<Least>();
  std::set<std::int64_t> out_;
  Trials all_;
  Race race_;
  std::unique_ptr<PreCheck> check_;
  std::vector<std::int64_t> checked_, passed_;
  std::size_t level_ = 0, place_ = 0, kept_ = 0;
  std::int64_t begun_ = 0;
  bool is_sure_ = false;
};

}  // namespace capra
