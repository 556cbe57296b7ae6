#include "wide.hpp"

#include <algorithm>
#include <limits>

namespace capra {

void Wide::grow(Growth& growth, std::vector<Item>& items) {
  Task root{0, static_cast<std::uint32_t>(items.size()), 0, {}, {}};
  for (const Column& column : growth.columns) root.ranges.push_back({0, column.last});
  growth.tree.nodes.assign(1, Node{});
  growth.tree.leaves.clear();
  growth.tree.subsets.clear();
  parts_.resize(items.size());
  right_.resize(items.size());
  growth.tree.shift = std::max_element(items.begin(), items.end(), [](const Item& a, const Item& b) {
                        return a.target < b.target;
                      })->target;
  finish(growth, items, std::move(root));
  while (!tasks_.empty()) {
    Task task = std::move(tasks_.back());
    tasks_.pop_back();
    part(growth, items, task);
  }
}

void Wide::finish(Growth& growth, const std::vector<Item>& items, Task task) {
  for (std::uint32_t i = task.begin; i < task.end; ++i) task.totals.add(items[i]);
  const Item* first = items.data() + task.begin;
  if (task.totals.is_final(growth.settings)) {
    growth.tree.make_leaf(task.node, first, items.data() + task.end);
  } else if (task.end - task.begin <= Narrow::kMost) {
    narrow_.grow(growth, first, task.end - task.begin, task.node, task.totals);
  } else {
    tasks_.push_back(std::move(task));
  }
}

void Wide::part(Growth& growth, std::vector<Item>& items, Task& task) {
  centre(items, task);
  const Score& score = growth.score;
  growth.score.prepare(task.totals.weight, growth.settings, growth.reciprocals);
  Split best;
  growth.draw_features(best, [&](std::uint32_t feature) {
    return growth.columns[feature].categories == 0 ? look_numeric(growth, feature, items, task, score, best)
                                                   : look_categorical(growth, feature, items, task, score, best);
  });
  if (best.gain < 0.0) {
    growth.tree.make_leaf(task.node, items.data() + task.begin, items.data() + task.end);
    return;
  }
  const Column& column = growth.columns[best.feature];
  if (column.categories > 0) growth.write_categorical(task.node, best);
  Code below, above;
  const std::uint32_t middle = stable_part(column, items, task, best, below, above);
  const std::uint32_t child = growth.tree.make_children(task.node);
  Task left{task.begin, middle, child, {}, task.ranges};
  Task right{middle, task.end, child + 1, {}, std::move(task.ranges)};
  if (column.categories == 0) {
    const double infinite = std::numeric_limits<double>::infinity();
    const bool last = above == kMissing;  // only NaN goes right
    growth.write_numeric(task.node, best, last ? infinite : column.high[below], last ? infinite : column.low[above]);
    left.ranges[best.feature].high = below;
    if (!last) right.ranges[best.feature].low = above;
  }
  finish(growth, items, std::move(right));
  finish(growth, items, std::move(left));
}

// Brings the items that go left before the others; answers where those begin. `below` and `above` become the largest code
// to the left and the smallest to the right, NaN aside (kMissing: there is none).
std::uint32_t Wide::stable_part(const Column& column, std::vector<Item>& items, const Task& task, const Split& best,
                                Code& below, Code& above) {
  std::uint32_t left = task.begin, right = 0;
  below = 0;
  above = kMissing;
  for (std::uint32_t i = task.begin; i < task.end; ++i) {
    const Item item = items[i];
    const Code code = column.codes[item.row];
    const bool known = code != kMissing;
    const bool goes_left = !known ? best.missing_left : column.categories > 0 ? best.has_left(code) : code <= best.cut;
    below = known && goes_left ? std::max(below, code) : below;
    above = known && !goes_left ? std::min(above, code) : above;
    items[left] = item;  // written to both sides: no branch, which would be guessed wrong half of the time
    right_[right] = item;
    left += goes_left;
    right += !goes_left;
  }
  std::copy(right_.begin(), right_.begin() + right, items.begin() + left);
  return left;
}

void Wide::centre(const std::vector<Item>& items, const Task& task) {
  const double mean = task.totals.mean();
  for (std::uint32_t i = task.begin; i < task.end; ++i) {
    const double weight = items[i].weight;
    parts_[i] = {weight * (items[i].target - mean), weight};
  }
}

Bin Wide::fill(const Column& column, const std::vector<Item>& items, const Task& task, Code low, int shift) {
  const Code* codes = column.codes.data();
  Bin* bins = bins_.data();
  Bin missing;
  if (!column.missing) {
    for (std::uint32_t i = task.begin; i < task.end; ++i) bins[(codes[items[i].row] - low) >> shift] += parts_[i];
    return missing;
  }
  for (std::uint32_t i = task.begin; i < task.end; ++i) {
    const Code code = codes[items[i].row];
    (code == kMissing ? missing : bins[(code - low) >> shift]) += parts_[i];
  }
  return missing;
}

bool Wide::look_numeric(const Growth& growth, std::uint32_t feature, const std::vector<Item>& items, Task& task,
                        const Score& score, Split& best) {
  Range& range = task.ranges[feature];
  const Column& column = growth.columns[feature];
  if (range.low == range.high && !column.missing) return false;
  while (true) {
    int shift = 0;
    while ((range.high - range.low) >> shift >= static_cast<int>(kBins)) ++shift;
    bins_.assign(((range.high - range.low) >> shift) + 1, Bin{});
    const Bin missing = fill(column, items, task, range.low, shift);
    scan(feature, range, shift, missing, score, best);
    if (shift > 0 && (range.high - range.low) >> shift == 0) continue;  // all are in one bin: look closer
    return range.low != range.high || (missing.weight > 0.0 && missing.weight < task.totals.weight);
  }
}

// Tries the cuts between the bins, and narrows the range to those that are not empty.
void Wide::scan(std::uint32_t feature, Range& range, int shift, const Bin& missing, const Score& score, Split& best) {
  const std::uint32_t count = static_cast<std::uint32_t>(bins_.size()), low = range.low;
  std::uint32_t first = count, last = 0;
  Bin left;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (bins_[i].weight == 0.0) continue;
    first = std::min(first, i);
    last = i;
    left += bins_[i];
    Growth::try_cut(left, missing, score, low + ((i + 1) << shift) - 1, feature, best);
  }
  if (first < count) {
    range.low = static_cast<Code>(low + (first << shift));
    range.high = static_cast<Code>(std::min<std::uint32_t>(range.high, low + ((last + 1) << shift) - 1));
  }
}

bool Wide::look_categorical(Growth& growth, std::uint32_t feature, const std::vector<Item>& items, const Task& task,
                            const Score& score, Split& best) {
  bins_.assign(growth.columns[feature].categories, Bin{});
  const Bin missing = fill(growth.columns[feature], items, task, 0, 0);
  return growth.scan_categories(feature, bins_, missing, score, best);
}

}  // namespace capra
