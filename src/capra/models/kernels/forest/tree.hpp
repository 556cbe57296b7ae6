#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "matrix.hpp"

namespace capra {

// One row in one tree's bootstrap sample: `weight` copies with the same target.
struct Item {
  double target;
  std::uint32_t row;
  std::uint32_t weight;
};

// 16 bytes: four to a cache line. Brothers stand side by side.
struct Node {
  static constexpr std::uint32_t kMissingLeft = 1u << 31;
  static constexpr std::uint32_t kCategorical = 1u << 30;

  union {
    double value = 0.0;    // a leaf's mean; a numeric split's point: x ≤ value goes left
    std::uint64_t subset;  // a categorical split: where in Tree::subsets the bits of its left categories begin
  };
  std::uint32_t child = 0;  // the left child, before the right one; 0: a leaf (the root is nobody's child)
  std::uint32_t feature = 0;  // with the flags above; of a leaf: its position in Tree::leaves

  bool is_leaf() const { return child == 0; }
  std::uint32_t column() const { return feature & ~(kMissingLeft | kCategorical); }
};

// What a leaf knows of its data besides the mean.
struct Leaf {
  double variance;  // of the targets
  double linear;    // mean of 10^(target − Tree::shift): costs, not their logarithms
  double weight;    // copies
};

struct Tree {
  std::vector<Node> nodes;
  std::vector<std::uint64_t> subsets;
  std::vector<Leaf> leaves;
  double shift = 0.0;  // the largest target: no power of ten can overflow

  bool goes_left(const Node& node, double x) const {
    if (x != x) return node.feature & Node::kMissingLeft;
    if (!(node.feature & Node::kCategorical)) return x <= node.value;
    const auto category = static_cast<std::uint64_t>(x);
    return subsets[node.subset + category / 64] >> (category % 64) & 1;
  }

  // The leaves that rows end in. Several rows walk side by side: one alone would wait for memory at every step.
  template <class Found>
  void walk(const Matrix& x, Found found) const {
    constexpr std::size_t kAbreast = 8;
    const Node* at[kAbreast];
    for (std::size_t first = 0; first < x.rows; first += kAbreast) {
      const std::size_t count = std::min(kAbreast, x.rows - first);
      std::fill_n(at, count, nodes.data());
      for (bool walking = true; walking;) {
        walking = false;
        for (std::size_t k = 0; k < count; ++k) {
          if (at[k]->is_leaf()) continue;
          at[k] = &nodes[at[k]->child + !goes_left(*at[k], x.row(first + k)[at[k]->column()])];
          walking = true;
        }
      }
      for (std::size_t k = 0; k < count; ++k) found(first + k, *at[k]);
    }
  }

  void make_leaf(std::uint32_t node, const Item* first, const Item* end);
  // Gives the node two children; answers with the left one.
  std::uint32_t make_children(std::uint32_t node);
};

}  // namespace capra
