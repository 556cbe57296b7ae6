// What the configurators with guarantees have in common: steps, the tournament that finds the next configuration, and the ledger
// that answers from a matrix of runtimes.
//
// A core is a sequential algorithm over numbers: configuration i on column j of the one order of instances, stopped at a cap.
// wanted() is the run that it cannot go on without, take() tells it. It knows nothing of stores, engines or workers, so the same
// code replays a history, drives real runs, and simulates a matrix.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

namespace capra {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Step {
  std::int64_t config, column;
  double cap;
};
using Steps = std::vector<Step>;

// Who has the least key; ties go to the second key, then to the lower number.
class Tournament {
 public:
  using Key = std::pair<double, double>;

  explicit Tournament(std::size_t players) { grow(players); }

  void grow(std::size_t players) {
    keys_.resize(players, {0.0, 0.0});
    base_ = 1;
    while (base_ < players) base_ *= 2;
    tree_.assign(2 * base_, kNobody);
    for (std::size_t i = 0; i < players; ++i) tree_[base_ + i] = i;
    for (std::size_t node = base_ - 1; node > 0; --node) tree_[node] = better(tree_[2 * node], tree_[2 * node + 1]);
  }
  void set(std::size_t i, double key, double tie = 0.0) {
    keys_[i] = {key, tie};
    for (std::size_t node = (base_ + i) / 2; node > 0; node /= 2) tree_[node] = better(tree_[2 * node], tree_[2 * node + 1]);
  }
  std::size_t winner() const { return tree_[1]; }
  const Key& key(std::size_t i) const { return keys_[i]; }
  std::size_t size() const { return keys_.size(); }

  // The first so many, best first, without those whose key is infinite.
  std::vector<std::size_t> ranking(std::size_t count) const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < keys_.size(); ++i)
      if (keys_[i].first < kInfinity) order.push_back(i);
    count = std::min(count, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                      [this](std::size_t a, std::size_t b) { return better(a, b) == a; });
    order.resize(count);
    return order;
  }

 private:
  static constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();

  std::size_t better(std::size_t a, std::size_t b) const {
    if (a == kNobody) return b;
    if (b == kNobody) return a;
    if (keys_[a] != keys_[b]) return keys_[a] < keys_[b] ? a : b;
    return std::min(a, b);
  }

  std::vector<Key> keys_;
  std::vector<std::size_t> tree_;
  std::size_t base_ = 1;
};

// Recorded runtimes: times[i, place[j]] of configuration i on column j. A cell that is known to a sufficient cap is never run
// again. Keeps the accounts both ways: every longer run from the beginning, and continued from the last cap; and once more as if
// every column were an instance of its own, though some are the same.
class Ledger {
 public:
  Ledger(const double* times, const double* values, std::size_t width, std::vector<std::int64_t> place, std::size_t rows)
      : times_(times), values_(values), width_(width), place_(std::move(place)), seen_(rows * width, 0.0f),
        fresh_(rows * place_.size(), 0.0f) {}

  // What the run shows: (value if it ended, whether it ended).
  std::pair<double, bool> look(const Step& step) {
    const auto row = static_cast<std::size_t>(step.config), column = static_cast<std::size_t>(step.column) % place_.size();
    const std::size_t cell = row * width_ + static_cast<std::size_t>(place_[column]);
    const double time = times_[cell], used = std::min(time, step.cap);
    ++steps;
    if (account(used, fresh_[row * place_.size() + column], fresh_restart, fresh_resumed) &&
        account(used, seen_[cell], restart, resumed))
      ++runs;
    return {values_[cell], time <= step.cap};
  }

  double restart = 0.0, resumed = 0.0, fresh_restart = 0.0, fresh_resumed = 0.0;
  std::int64_t steps = 0, runs = 0;

 private:
  // Single precision is enough to know what was run, and half of the memory.
  static bool account(double used, float& known, double& restart, double& resumed) {
    if (static_cast<float>(used) <= known) return false;
    restart += used;
    resumed += used - static_cast<double>(known);
    known = static_cast<float>(used);
    return true;
  }

  const double* times_;
  const double* values_;
  std::size_t width_;
  std::vector<std::int64_t> place_;
  std::vector<float> seen_, fresh_;
};

// Drive a core until its promise (core.gap()) is as small as wanted, it has finished, or the budget (time, every run from its
// beginning) or the number of steps is used up.
template <class Core>
void simulate(Core& core, Ledger& ledger, double gap, double budget, std::int64_t steps) {
  for (; steps > 0 && core.gap() > gap && ledger.restart < budget; --steps) {
    const std::optional<Step> step = core.wanted();
    if (!step) return;
    const auto [value, done] = ledger.look(*step);
    core.take(value, done);
  }
}

}  // namespace capra
