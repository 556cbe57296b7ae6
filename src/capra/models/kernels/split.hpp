#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "columns.hpp"
#include "random.hpp"
#include "tree.hpp"

namespace capra {

struct Settings {
  std::uint32_t min_leaf = 1;   // copies that a leaf has at least
  std::uint32_t min_split = 2;  // copies that a node needs to be split
  std::uint32_t features = 1;   // columns with a possible split that a node looks at
};

// Copies and targets of a node.
struct Totals {
  double weight = 0.0, sum = 0.0;
  double low = 0.0, high = 0.0;

  void add(const Item& item);
  double mean() const { return sum / weight; }
  bool is_final(const Settings& settings) const {
    return weight < settings.min_split || weight < 2.0 * settings.min_leaf || low == high;
  }
};

// Some of a node's data: copies, and the sum of their targets' differences from the node's mean.
struct Bin {
  double sum = 0.0, weight = 0.0;

  void operator+=(const Bin& other) {
    sum += other.sum;
    weight += other.weight;
  }
};

// How much the squared error falls when a node is parted in two. Differences from the node's mean add up to nothing, so
// the sum of one side is enough: sum²/left + (−sum)²/right.
class Score {
 public:
  Score(double weight, const Settings& settings, const std::vector<double>& reciprocals)
      : weight_(weight), least_(settings.min_leaf), most_(weight - settings.min_leaf), reciprocals_(reciprocals.data()) {}

  double operator()(double sum, double left) const {
    if (left < least_ || left > most_) return -1.0;
    return sum * sum * (reciprocals_[static_cast<std::size_t>(left)] + reciprocals_[static_cast<std::size_t>(weight_ - left)]);
  }

 private:
  double weight_, least_, most_;
  const double* reciprocals_;  // a table: dividing would take most of the time
};

// The best way found so far to part a node.
struct Split {
  double gain = -1.0;         // below 0: none
  std::uint32_t feature = 0;
  std::uint32_t cut = 0;      // numbers: codes (or places in the order) up to here go left
  bool missing_left = false;
  bool missing_seen = false;
  std::vector<std::uint64_t> left, seen;  // categories, as bits

  bool has_left(Code category) const { return left[category / 64] >> (category % 64) & 1; }
};

// What growing a tree shares between its parts.
struct Growth {
  const std::vector<Column>& columns;
  const Settings& settings;
  const std::vector<double>& reciprocals;  // [k] = 1/k
  Random random;
  Tree& tree;
  std::vector<std::uint32_t> features;  // in the order of the last draw
  std::vector<std::pair<double, std::uint32_t>> sorted;  // scratch of scan_categories: mean, category

  // Draws columns without replacement until `features` of them had a possible split; look(column) says whether it had.
  template <class Look>
  void draw_features(Look look) {
    const auto count = static_cast<std::uint32_t>(features.size());
    std::uint32_t useful = 0;
    for (std::uint32_t i = 0; i < count && useful < settings.features; ++i) {
      std::swap(features[i], features[i + random.below(count - i)]);
      useful += look(features[i]);
    }
  }

  // Tries all cuts between neighbours when categories are ordered by their mean, which finds the best of all partitions
  // (Breiman et al. 1984, Th. 4.5). bins[k]: the category k; missing: NaN. True if there is a possible split.
  bool scan_categories(std::uint32_t feature, const std::vector<Bin>& bins, const Bin& missing, const Score& score,
                       Split& best);

  // Tries a cut with the bin `left` to its left, and the missing ones on either side.
  static bool try_cut(const Bin& left, const Bin& missing, const Score& score, std::uint32_t cut, std::uint32_t feature,
                      Split& best) {
    const double right_gain = score(left.sum, left.weight);  // the missing ones go right
    const double left_gain = missing.weight > 0.0 ? score(left.sum + missing.sum, left.weight + missing.weight) : -1.0;
    const double gain = right_gain > left_gain ? right_gain : left_gain;
    if (gain > best.gain) {
      best.gain = gain;
      best.feature = feature;
      best.cut = cut;
      best.missing_left = left_gain > right_gain;
      best.missing_seen = missing.weight > 0.0;
    }
    return gain >= 0.0;
  }

  // Writes the split into its node. What the node's data says nothing about is left to chance: the point of a numeric split
  // is anywhere between its neighbours a and b (Hutter et al. 2013, footnote 4), categories and NaN that did not occur go
  // to either side.
  void write_numeric(std::uint32_t node, Split& split, double a, double b);
  void write_categorical(std::uint32_t node, Split& split);

 private:
  void write_feature(std::uint32_t node, Split& split, std::uint32_t flags);
};

}  // namespace capra
