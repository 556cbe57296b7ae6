#include "split.hpp"

#include <algorithm>

namespace capra {

void Totals::add(const Item& item) {
  low = weight == 0.0 ? item.target : std::min(low, item.target);
  high = weight == 0.0 ? item.target : std::max(high, item.target);
  weight += item.weight;
  sum += item.weight * item.target;
}

bool Growth::scan_categories(std::uint32_t feature, const std::vector<Bin>& bins, const Bin& missing, const Score& score,
                             Split& best) {
  sorted.clear();
  for (std::uint32_t k = 0; k < columns[feature].categories; ++k) {
    if (bins[k].weight > 0.0) sorted.emplace_back(bins[k].sum / bins[k].weight, k);
  }
  std::sort(sorted.begin(), sorted.end());
  const double before = best.gain;
  bool possible = false;
  Bin left;
  for (std::uint32_t i = 0; i < sorted.size(); ++i) {
    left += bins[sorted[i].second];
    possible |= try_cut(left, missing, score, i, feature, best);
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
  return possible;
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
