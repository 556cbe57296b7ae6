#include "narrow.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace capra {
namespace {

// Stable counting sort by the byte at `shift`.
void radix_pass(const std::uint32_t* from, std::uint32_t* to, std::uint32_t count, int shift) {
  std::array<std::uint32_t, 257> starts{};
  for (std::uint32_t i = 0; i < count; ++i) ++starts[((from[i] >> shift) & 255) + 1];
  for (std::size_t digit = 1; digit < 256; ++digit) starts[digit] += starts[digit - 1];
  for (std::uint32_t i = 0; i < count; ++i) to[starts[(from[i] >> shift) & 255]++] = from[i];
}

void insertion_sort(std::uint32_t* keys, std::uint32_t count) {
  for (std::uint32_t i = 1; i < count; ++i) {
    const std::uint32_t key = keys[i];
    std::uint32_t j = i;
    for (; j > 0 && keys[j - 1] > key; --j) keys[j] = keys[j - 1];
    keys[j] = key;
  }
}

// Brings what goes left before what goes right, both in the order they had; answers where the right ones begin. The lower
// byte of an entry is the number of its item.
template <class T>
std::uint32_t stable_part(T* entries, std::uint32_t begin, std::uint32_t end, const std::uint8_t* is_left, T* scratch) {
  std::uint32_t left = begin, right = 0;
  for (std::uint32_t i = begin; i < end; ++i) {
    const T entry = entries[i];
    const std::uint32_t goes_left = is_left[entry & 255];
    entries[left] = entry;  // written to both sides: no branch, which would be guessed wrong half of the time
    scratch[right] = entry;
    left += goes_left;
    right += 1 - goes_left;
  }
  std::memcpy(entries + left, scratch, right * sizeof(T));
  return left;
}

}  // namespace

Narrow::Narrow(const std::vector<Column>& columns) : places_(columns.size() * kStride), codes_(columns.size() * kStride) {
  for (const Column& column : columns) bins_.resize(std::max<std::size_t>(bins_.size(), column.categories));
}

void Narrow::grow(Growth& growth, const Item* items, std::uint32_t count, std::uint32_t node, const Totals& totals) {
  load(growth.columns, items, count);
  tasks_.assign(1, Task{0, count, node, totals});
  while (!tasks_.empty()) {
    const Task task = tasks_.back();
    tasks_.pop_back();
    part(growth, task);
  }
}

void Narrow::load(const std::vector<Column>& columns, const Item* items, std::uint32_t count) {
  std::copy(items, items + count, items_.begin());
  for (std::uint32_t i = 0; i < count; ++i) {
    ids_[i] = static_cast<Id>(i);
    weights_[i] = items[i].weight;
  }
  for (std::size_t j = 0; j < columns.size(); ++j) {
    if (columns[j].categories == 0) {
      sort_places(columns[j], items, count, &places_[j * kStride]);
    } else {
      for (std::uint32_t i = 0; i < count; ++i) codes_[j * kStride + i] = columns[j].codes[items[i].row];
    }
  }
}

void Narrow::sort_places(const Column& column, const Item* items, std::uint32_t count, Place* places) {
  constexpr std::uint32_t kInsertionUpTo = 40;
  std::uint32_t* keys = keys_.data();
  for (std::uint32_t i = 0; i < count; ++i) keys[i] = std::uint32_t{column.codes[items[i].row]} << 8 | i;
  if (count <= kInsertionUpTo) {
    insertion_sort(keys, count);
  } else {
    radix_pass(keys_.data(), other_keys_.data(), count, 8);
    radix_pass(other_keys_.data(), keys_.data(), count, 16);
  }
  std::uint32_t rank = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    rank += i > 0 && keys[i] >> 8 != keys[i - 1] >> 8;
    const std::uint32_t shown = keys[i] >> 8 == kMissing ? kMissingRank : rank;
    places[i] = static_cast<Place>(shown << 8 | (keys[i] & 255));
  }
}

void Narrow::part(Growth& growth, const Task& task) {
  centre(task);
  const Score& score = growth.score;
  growth.score.prepare(task.totals.weight, growth.settings, growth.reciprocals);
  Split best;
  growth.draw_features(best, [&](std::uint32_t feature) {
    return growth.columns[feature].categories == 0 ? look_numeric(feature, task, score, best)
                                                   : look_categorical(growth, feature, task, score, best);
  });
  if (best.gain < 0.0) {
    make_leaf(growth, task);
    return;
  }
  choose_sides(growth, task, best);
  const std::uint32_t middle = stable_part(ids_.data(), task.begin, task.end, is_left_.data(), others_.data());
  const std::uint32_t child = growth.tree.make_children(task.node);
  const Task left = make_task(task.begin, middle, child), right = make_task(middle, task.end, child + 1);
  part_places(growth, left, right);
  finish(growth, right);
  finish(growth, left);
}

Narrow::Task Narrow::make_task(std::uint32_t begin, std::uint32_t end, std::uint32_t node) const {
  Task task{begin, end, node, {}};
  for (std::uint32_t i = begin; i < end; ++i) task.totals.add(items_[ids_[i]]);
  return task;
}

void Narrow::centre(const Task& task) {
  const double mean = task.totals.mean();
  for (std::uint32_t i = task.begin; i < task.end; ++i) {
    const Item& item = items_[ids_[i]];
    sums_[ids_[i]] = item.weight * (item.target - mean);
  }
}

bool Narrow::look_numeric(std::uint32_t feature, const Task& task, const Score& score, Split& best) const {
  const Place* places = &places_[feature * kStride];
  if (places[task.end - 1] >> 8 == kMissingRank) return look_with_missing(feature, task, score, best);
  double gain = best.gain, sum = 0.0;
  std::uint32_t left = 0, cut = 0;
  for (std::uint32_t i = task.begin; i + 1 < task.end; ++i) {
    const std::uint32_t id = places[i] & 255;
    sum += sums_[id];
    left += weights_[id];
    const double now = score(sum, left);
    if (now > gain && places[i] >> 8 != places[i + 1] >> 8) {  // no point lies between equal values
      gain = now;
      cut = i;
    }
  }
  best.offer(gain, feature, cut, false, false);
  return places[task.begin] >> 8 != places[task.end - 1] >> 8;
}

bool Narrow::look_with_missing(std::uint32_t feature, const Task& task, const Score& score, Split& best) const {
  const Place* places = &places_[feature * kStride];
  const auto bin = [&](Place place) { return Bin{sums_[place & 255], static_cast<double>(weights_[place & 255])}; };
  std::uint32_t end = task.end;
  Bin missing, left;
  while (end > task.begin && places[end - 1] >> 8 == kMissingRank) missing += bin(places[--end]);
  for (std::uint32_t i = task.begin; i < end; ++i) {
    left += bin(places[i]);
    if (i + 1 == end || places[i] >> 8 != places[i + 1] >> 8) {
      Growth::try_cut(left, missing, score, i, feature, best);
    }
  }
  return end > task.begin;
}

bool Narrow::look_categorical(Growth& growth, std::uint32_t feature, const Task& task, const Score& score, Split& best) {
  const Code* codes = &codes_[feature * kStride];
  std::fill_n(bins_.begin(), growth.columns[feature].categories, Bin{});
  Bin missing;
  for (std::uint32_t i = task.begin; i < task.end; ++i) {
    const Id id = ids_[i];
    (codes[id] == kMissing ? missing : bins_[codes[id]]) += {sums_[id], static_cast<double>(items_[id].weight)};
  }
  return growth.scan_categories(feature, bins_, missing, score, best);
}

void Narrow::choose_sides(Growth& growth, const Task& task, Split& best) {
  const Column& column = growth.columns[best.feature];
  if (column.categories > 0) {
    growth.write_categorical(task.node, best);
    const Code* codes = &codes_[best.feature * kStride];
    for (std::uint32_t i = task.begin; i < task.end; ++i) {
      const Code code = codes[ids_[i]];
      is_left_[ids_[i]] = code == kMissing ? best.missing_left : best.has_left(code);
    }
    return;
  }
  const Place* places = &places_[best.feature * kStride];
  const auto code = [&](std::uint32_t i) { return column.codes[items_[places[i] & 255].row]; };
  const bool last = best.cut + 1 == task.end || places[best.cut + 1] >> 8 == kMissingRank;  // only NaN goes right
  const double infinite = std::numeric_limits<double>::infinity();
  growth.write_numeric(task.node, best, last ? infinite : column.high[code(best.cut)],
                       last ? infinite : column.low[code(best.cut + 1)]);
  for (std::uint32_t i = task.begin; i < task.end; ++i) is_left_[places[i] & 255] = i <= best.cut;
  for (std::uint32_t i = task.end; i > task.begin && places[i - 1] >> 8 == kMissingRank; --i) {
    is_left_[places[i - 1] & 255] = best.missing_left;
  }
}

void Narrow::part_places(const Growth& growth, const Task& left, const Task& right) {
  if (left.totals.is_final(growth.settings) && right.totals.is_final(growth.settings)) return;
  for (std::size_t j = 0; j < growth.columns.size(); ++j) {
    if (growth.columns[j].categories == 0) {
      stable_part(&places_[j * kStride], left.begin, right.end, is_left_.data(), others_.data());
    }
  }
}

void Narrow::finish(Growth& growth, const Task& task) {
  if (task.totals.is_final(growth.settings)) {
    make_leaf(growth, task);
  } else {
    tasks_.push_back(task);
  }
}

void Narrow::make_leaf(Growth& growth, const Task& task) {
  for (std::uint32_t i = task.begin; i < task.end; ++i) leaf_[i - task.begin] = items_[ids_[i]];
  growth.tree.make_leaf(task.node, leaf_.data(), leaf_.data() + (task.end - task.begin));
}

}  // namespace capra
