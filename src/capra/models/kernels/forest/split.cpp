#include "split.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace capra {

void Score::prepare(double weight, const Settings& settings, const std::vector<double>& reciprocals) {
  const auto total = static_cast<std::size_t>(weight);
  factors_.assign(total + 1, -std::numeric_limits<double>::infinity());
  for (std::size_t left = settings.min_leaf; left + settings.min_leaf <= total; ++left) {
    factors_[left] = reciprocals[left] + reciprocals[total - left];
  }
}

Growth::Growth(const std::vector<Column>& columns_, const Settings& settings_, const std::vector<double>& reciprocals_,
               Random random_, Tree& tree_)
    : columns(columns_),
      settings(settings_),
      reciprocals(reciprocals_),
      random(random_),
      tree(tree_),
      features(columns_.size()) {
  std::iota(features.begin(), features.end(), 0);
}

bool Growth::scan_categories(std::uint32_t feature, const std::vector<Bin>& bins, const Bin& missing, const Score& score,
                             Split& best) {
  sorted.clear();
  for (std::uint32_t k = 0; k < columns[feature].categories; ++k) {
    if (bins[k].weight > 0.0) sorted.emplace_back(bins[k].sum / bins[k].weight, k);
  }
  std::sort(sorted.begin(), sorted.end());
  const double before = best.gain;
  Bin left;
  for (std::uint32_t i = 0; i < sorted.size(); ++i) {
    left += bins[sorted[i].second];
    try_cut(left, missing, score, i, feature, best);
  }
  if (best.gain > before) {
    const std::size_t words = (columns[feature].categories + 63) / 64;
    best.left.assign(words, 0);
    best.seen.assign(words, 0);
    for (std::uint32_t i = 0; i < sorted.size(); ++i) {
      const std::uint32_t category = sorted[i].second;
      const std::uint64_t bit = 1ULL << (category % 64);
      best.seen[category / 64] |= bit;
      if (i <= best.cut) best.left[category / 64] |= bit;
    }
  }
  return sorted.size() > 1 || (!sorted.empty() && missing.weight > 0.0);
}

void Growth::write_feature(std::uint32_t node, Split& split, std::uint32_t flags) {
  if (!split.missing_seen) split.missing_left = random.coin();
  tree.nodes[node].feature = split.feature | flags | (split.missing_left ? Node::kMissingLeft : 0);
}

void Growth::write_numeric(std::uint32_t node, Split& split, double a, double b) {
  const double point = a + random.uniform() * (b - a);
  tree.nodes[node].value = point < b ? point : a;
  write_feature(node, split, 0);
}

void Growth::write_categorical(std::uint32_t node, Split& split) {
  tree.nodes[node].subset = tree.subsets.size();
  for (std::size_t i = 0; i < split.left.size(); ++i) {
    split.left[i] |= random.next() & ~split.seen[i];
    tree.subsets.push_back(split.left[i]);
  }
  write_feature(node, split, Node::kCategorical);
}

}  // namespace capra
