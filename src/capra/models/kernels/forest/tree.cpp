#include "tree.hpp"

#include <cmath>

namespace capra {

void Tree::make_leaf(std::uint32_t node, const Item* first, const Item* end) {
  constexpr double kLog10 = 2.302585092994045684;
  double weight = 0.0, sum = 0.0, linear = 0.0;
  for (const Item* item = first; item != end; ++item) {
    weight += item->weight;
    sum += item->weight * item->target;
    linear += item->weight * std::exp((item->target - shift) * kLog10);
  }
  const double mean = first->target + (sum - weight * first->target) / weight;  // exact when all targets are equal
  double squares = 0.0;
  for (const Item* item = first; item != end; ++item) {
    squares += item->weight * (item->target - mean) * (item->target - mean);
  }
  nodes[node].value = mean;
  nodes[node].child = 0;
  nodes[node].feature = static_cast<std::uint32_t>(leaves.size());
  leaves.push_back({squares / weight, linear / weight, weight});
}

std::uint32_t Tree::make_children(std::uint32_t node) {
  const auto child = static_cast<std::uint32_t>(nodes.size());
  nodes[node].child = child;
  nodes.resize(nodes.size() + 2);
  return child;
}

}  // namespace capra
