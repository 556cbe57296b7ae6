#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "matrix.hpp"
#include "tree.hpp"

namespace capra {

// A tree with a set of instances put in: a function of the configuration alone.
//
// Which instances reach a node depends only on the instance splits above it, whether the configuration does so only on the
// others. So a leaf's share of the mean is known beforehand: its mean cost times the part of the instances that reach it. A
// configuration walks the tree once, follows its own side at splits of its own, and both sides at splits of instances;
// nodes that no instance reaches are not there.
class Marginal {
 public:
  // Columns up to `configuration` belong to the configuration, the others to the instance.
  Marginal(const Tree& tree, std::size_t configuration, const Matrix& instances);

  // log10 of the mean over instances of the mean cost in their leaves. `stack` is scratch.
  double operator()(const double* configuration, std::vector<std::uint32_t>& stack) const;

 private:
  static constexpr std::uint32_t kBoth = 0x3fffffff;  // instead of a column: a split of instances

  struct Task {
    std::uint32_t from, to;
    std::size_t begin, end;  // the instances that come here
  };

  std::size_t part(const Node& node, const Matrix& instances, const Task& task);
  void copy(const Matrix& instances, Task task);
  void merge_leaves();

  const Tree& tree_;
  std::size_t configuration_;
  std::vector<Node> nodes_;  // like the tree's; the value of a leaf is its share of the mean
  std::vector<std::uint32_t> instances_;
  std::vector<Task> tasks_;
};

}  // namespace capra
