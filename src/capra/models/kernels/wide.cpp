#include "wide.hpp"

#include <algorithm>
#include <limits>

namespace capra {

void Wide::grow(Growth& growth, std::vector<Item>& items) {
  Task root{0, static_cast<std::uint32_t>(items.size()), 0, {}, {}};
  for (const Item& item : items) root.totals.add(item);
  for (const Column& column : growth.columns) root.ranges.push_back({0, column.last});
  growth.tree.shift = root.totals.high;
  growth.tree.nodes.assign(1, Node{});
  growth.tree.leaves.clear();
  growth.tree.subsets.clear();
  parts_.resize(items.size());
  right_.resize(items.size());
  make_child(growth, items, std::move(root));
  while (!tasks_.empty()) {
    Task task = std::move(tasks_.back());
    tasks_.pop_back();
    part(growth, items, task);
  }
}

void Wide::make_child(Growth& growth, const std::vector<Item>& items, Task child) {
  const Item* first = items.data() + child.begin;
  if (child.totals.is_final(growth.settings)) {
    growth.tree.make_leaf(child.node, first, items.data() + child.end);
  } else if (child.end - child.begin <= Narrow::kMost) {
    narrow_.grow(growth, first, child.end - child.begin, child.node, child.totals);
  } else {
    tasks_.push_back(std::move(child));
  }
}

void Wide::part(Growth& growth, std::vector<Item>& items, Task& task) {
  centre(items, task);
  const Score score(task.totals.weight, growth.settings, growth.reciprocals);
  Split best;
  growth.draw_features([&](std::uint32_t feature) {
    return growth.columns[feature].categories == 0 ? look_numeric(growth, feature, items, task, score, best)
                                                   : look_categorical(growth, feature, items, task, score, best);
  });
  if (best.gain < 0.0) {
    growth.tree.make_leaf(task.node, items.data() + task.begin, items.data() + task.end);
    return;
  }
  const Column& column = growth.columns[best.feature];
  if (column.categories > 0) growth.write_categorical(task.node, best);
  Task left{task.begin, task.begin, growth.tree.make_children(task.node), {}, task.ranges};
  Task right{task.end, task.end, left.node + 1, {}, std::move(task.ranges)};
  Code below = 0, above = kMissing;  // the codes on both sides of the cut
  std::uint32_t count = 0;
  for (std::uint32_t i = task.begin; i < task.end; ++i) {
    const Item item = items[i];
    const Code code = column.codes[item.row];
    bool goes_left = best.missing_left;
    if (code != kMissing) {
      goes_left = column.categories > 0 ? best.has_left(code) : code <= best.cut;
      if (goes_left) below = std::max(below, code);
      else above = std::min(above, code);
    }
    (goes_left ? left : right).totals.add(item);
    if (goes_left) items[left.end++] = item;
    else right_[count++] = item;
  }
  right.begin = left.end;
  std::copy(right_.begin(), right_.begin() + count, items.begin() + right.begin);
  if (column.categories == 0) {
    const double infinite = std::numeric_limits<double>::infinity();
    const bool last = above == kMissing;  // only NaN goes right
    growth.write_numeric(task.node, best, last ? infinite : column.high[below], last ? infinite : column.low[above]);
    left.ranges[best.feature].high = below;
    if (!last) right.ranges[best.feature].low = above;
  }
  make_child(growth, items, std::move(right));
  make_child(growth, items, std::move(left));
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
    const bool possible = scan(feature, range, shift, missing, score, best);
    if (shift == 0 || (range.high - range.low) >> shift > 0) return possible;  // else all are in one bin: look closer
  }
}

// Tries the cuts between the bins, and narrows the range to those that are not empty.
bool Wide::scan(std::uint32_t feature, Range& range, int shift, const Bin& missing, const Score& score, Split& best) {
  const std::uint32_t count = static_cast<std::uint32_t>(bins_.size()), low = range.low;
  std::uint32_t first = count, last = 0;
  bool possible = false;
  Bin left;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (bins_[i].weight == 0.0) continue;
    first = std::min(first, i);
    last = i;
    left += bins_[i];
    possible |= Growth::try_cut(left, missing, score, low + ((i + 1) << shift) - 1, feature, best);
  }
  if (first < count) {
    range.low = static_cast<Code>(low + (first << shift));
    range.high = static_cast<Code>(std::min<std::uint32_t>(range.high, low + ((last + 1) << shift) - 1));
  }
  return possible;
}

bool Wide::look_categorical(Growth& growth, std::uint32_t feature, const std::vector<Item>& items, const Task& task,
                            const Score& score, Split& best) {
  bins_.assign(growth.columns[feature].categories, Bin{});
  const Bin missing = fill(growth.columns[feature], items, task, 0, 0);
  return growth.scan_categories(feature, bins_, missing, score, best);
}

}  // namespace capra
