#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "cells.hpp"
#include "matrix.hpp"
#include "tree.hpp"

namespace capra {

// A comparison of a parameter with constants: low < x ≤ high, or for categories the bits of those that are meant.
struct Literal {
  std::uint32_t column;
  double low, high;
  std::vector<std::uint64_t> bits;
};

using Term = std::vector<Literal>;       // all of them hold
using Condition = std::vector<Term>;     // one of them holds; no terms: always

// The configurations that there are, all equally likely: every parameter has a value, drawn by itself, and is inactive where
// its condition does not hold. A comparison with an inactive parameter does not hold.
struct Domain {
  std::vector<std::uint32_t> categories;   // 0: a number
  std::vector<std::vector<double>> atoms;  // numbers: the codes that there are, ascending; none: all of [0, 1]
  std::vector<Condition> conditions;

  std::size_t columns() const { return categories.size(); }
};

// A tree as a function of independent parameters: a sum over its leaves of products over groups of parameters.
//
// The tree sees NaN where a parameter is inactive, and what is inactive is decided by other parameters. Parameters that are
// tied by conditions are one group. Within a group, the configurations that reach a leaf are a few boxes; between groups,
// and for all parameters without conditions, they are a product. Instances that go different ways make leaves that overlap:
// the function is the mean over instances.
class Leaves {
 public:
  static constexpr std::size_t kMost = 20000000;
  static constexpr std::uint32_t kNone = 0xffffffff;

  // `active`: only the configurations in which this column is active.
  Leaves(const Tree& tree, const Domain& domain, const Matrix& instances, std::uint32_t active = kNone);

  double variance() const;
  // Variance of the effect of a column: of the mean given its value.
  double variance_of(std::uint32_t column) const;
  // Variance of what two columns do together beyond what each does alone.
  double interaction(std::uint32_t one, std::uint32_t other) const;
  // The mean given the value x of a column, within the configurations that were asked for.
  std::vector<double> curve(std::uint32_t column, const double* x, std::size_t n) const;

 private:
  using Run = std::pair<std::uint32_t, std::uint32_t>;  // cells first … end − 1
  // Values of a column: a run of cells, or the bits of categories; and whether it may be inactive.
  struct Values {
    Run range;
    std::vector<std::uint64_t> bits;
    bool missing;
  };
  struct Side {
    std::uint32_t column;
    std::size_t first, end;  // its runs
    double share;
  };
  struct Part {  // a box of a group
    std::uint32_t group;
    std::size_t first, end;  // its sides, of ascending columns
    double volume;
    double chance;  // its share of the group's volume in the leaf
  };
  struct Reached {
    double value, volume;
    std::size_t first, end;  // its parts, of ascending groups
  };
  struct Entry {
    std::size_t leaf, part, side;
  };
  enum class Truth { kNo, kMaybe, kYes };

  void make_cells();
  void make_groups();
  Values everything(std::uint32_t column) const;
  bool has_values(std::uint32_t column, const Values& values) const;
  Values side_of(std::uint32_t at, const Values& before, bool left) const;
  void descend(std::uint32_t node, std::size_t begin, std::size_t end);
  void emit(std::uint32_t node, double share);
  double add_group(std::uint32_t group);
  void expand(const std::vector<std::uint32_t>& conditional, std::size_t next, std::uint32_t group);
  void add_part(std::uint32_t group);
  bool is_touched(std::uint32_t column) const;
  Side make_side(std::uint32_t column);
  Truth activity(std::uint32_t column, const Literal*& open) const;
  Truth holds(const Literal& literal, const Literal*& open) const;
  Truth overlap(const Literal& literal) const;
  // Calls then() in each part of the present box that the literal tells apart.
  template <class Then>
  void split(const Literal& open, Then then);
  std::vector<double> effect(std::uint32_t column) const;
  void add_corners(std::vector<double>& grid, std::size_t width, double weight, const Side& one, const Side& other) const;
  double squares(std::vector<double>& grid, std::uint32_t one, std::uint32_t other) const;
  double common(const Side& one, const Side& other) const;
  double common(const Part& one, const Part& other) const;
  double common(const Reached& one, const std::vector<std::size_t>& ours, const Reached& other) const;
  void bound(const Reached& leaf, std::vector<Values>& box) const;
  // Calls found(k) for the leaves that a box may reach.
  template <class Found>
  void meet(const std::vector<Values>& box, std::vector<std::uint32_t>& stack, Found found) const;

  const Tree& tree_;
  const Domain& domain_;
  const Matrix& instances_;
  std::uint32_t active_;
  std::vector<Cells> cells_;
  std::vector<std::vector<std::uint32_t>> groups_;  // columns, each after those that its condition looks at
  std::vector<std::uint32_t> group_of_;
  std::vector<std::uint32_t> order_;  // of the instances
  std::vector<Values> reach_;         // the node at hand
  std::vector<Values> box_;           // the part at hand

  std::vector<Run> runs_;
  std::vector<Side> sides_;
  std::vector<Part> parts_;
  std::vector<Reached> leaves_;
  std::vector<std::size_t> leaf_of_;  // of each node of the tree: its number, or kNone
  std::vector<std::uint32_t> cut_;    // of each split of a number: the cells to its left
  std::vector<std::vector<Entry>> entries_;  // of each column: what is bounded there, leaf after leaf
  double centre_ = 0.0;  // values are differences from it: variances lose no digits to a large mean
  double mean_ = 0.0, mass_ = 1.0;
};

}  // namespace capra
