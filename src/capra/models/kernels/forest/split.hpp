#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "columns.hpp"
#include "random.hpp"
#include "tree.hpp"

namespace capra {

struct Settings {
  std::uint32_t min_leaf = 1;   // copies that a leaf has at least
  std::uint32_t min_split = 2;  // copies that a node needs to be split
  std::uint32_t features = 1;   // columns, not constant, that a node looks at
};

// Copies and targets of a node.
struct Totals {
  double weight = 0.0, sum = 0.0;
  double low = std::numeric_limits<double>::infinity(), high = -low;

  void add(const Item& item) {
    weight += item.weight;
    sum += item.weight * item.target;
    low = std::min(low, item.target);
    high = std::max(high, item.target);
  }
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
  Bin operator+(const Bin& other) const { return {sum + other.sum, weight + other.weight}; }
};

// How much the squared error falls when a node is parted in two. Differences from the node's mean add up to nothing, so
// the sum of one side is enough: sum²/left + (−sum)²/right = sum² (1/left + 1/right).
class Score {
 public:
  // Makes the table of 1/left + 1/right for a node: dividing at every cut would take most of the time. Where a side
  // would be lighter than min_leaf it holds −∞, so that such a cut is never better than another.
  void prepare(double weight, const Settings& settings, const std::vector<double>& reciprocals);

  double operator()(double sum, std::size_t left) const { return sum * sum * factors_[left]; }
  // −1: not allowed.
  double operator()(const Bin& left) const {
    const double gain = (*this)(left.sum, static_cast<std::size_t>(left.weight));
    return gain >= 0.0 ? gain : -1.0;  // 0 · −∞ is no number
  }

 private:
  std::vector<double> factors_;
};

// The best way found so far to part a node.
struct Split {
  double gain = -1.0;         // below 0: none
  std::uint32_t feature = 0;
  std::uint32_t cut = 0;      // numbers: codes (or places in the order) up to here go left
  bool missing_left = false;
  bool missing_seen = false;
  std::vector<std::uint64_t> left, seen;  // categories, as bits

  void offer(double new_gain, std::uint32_t new_feature, std::uint32_t new_cut, bool new_missing_left, bool with_missing) {
    if (!(new_gain > gain)) return;
    gain = new_gain;
    feature = new_feature;
    cut = new_cut;
    missing_left = new_missing_left;
    missing_seen = with_missing;
  }
  bool has_left(Code category) const { return left[category / 64] >> (category % 64) & 1; }
};

// What growing a tree shares between its parts.
struct Growth {
  Growth(const std::vector<Column>& columns_, const Settings& settings_, const std::vector<double>& reciprocals_,
         Random random_, Tree& tree_);

  const std::vector<Column>& columns;
  const Settings& settings;
  const std::vector<double>& reciprocals;  // [k] = 1/k
  Random random;
  Tree& tree;
  Score score;                          // of the node at hand
  std::vector<std::uint32_t> features;  // in the order of the last draw
  std::vector<std::pair<double, std::uint32_t>> sorted;  // scratch of scan_categories: mean, category

  // Draws columns without replacement until `features` of them were not constant in the node and a split was found.
  // look(column) tries the column's splits and says whether it is not constant.
  template <class Look>
  void draw_features(const Split& best, Look look) {
    const auto count = static_cast<std::uint32_t>(features.size());
    std::uint32_t useful = 0;
    for (std::uint32_t i = 0; i < count && (useful < settings.features || best.gain < 0.0); ++i) {
      std::swap(features[i], features[i + random.below(count - i)]);
      useful += look(features[i]);
    }
  }

  // Tries all cuts between neighbours when categories are ordered by their mean, which finds the best of all partitions
  // (Breiman et al. 1984, Th. 4.5). bins[k]: the category k; missing: NaN. False if the column is constant.
  bool scan_categories(std::uint32_t feature, const std::vector<Bin>& bins, const Bin& missing, const Score& score,
                       Split& best);

  // Tries a cut with the bin `left` to its left, and the missing ones on either side.
  static void try_cut(const Bin& left, const Bin& missing, const Score& score, std::uint32_t cut, std::uint32_t feature,
                      Split& best) {
    const double to_right = score(left);
    const double to_left = missing.weight > 0.0 ? score(left + missing) : -1.0;
    best.offer(to_left > to_right ? to_left : to_right, feature, cut, to_left > to_right, missing.weight > 0.0);
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
