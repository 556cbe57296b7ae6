#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "anova.hpp"
#include "columns.hpp"
#include "matrix.hpp"
#include "split.hpp"
#include "tree.hpp"

namespace capra {

struct ForestOptions {
  std::size_t trees = 10;
  bool bootstrap = true;
  std::uint64_t seed = 0;
  Settings settings;
  std::size_t threads = 1;
};

// Regression trees on bootstrap samples. The data and the samples stay; targets may change from fit to fit. All that is
// random depends on the seed and the tree's number alone, never on threads or on earlier fits.
class Forest {
 public:
  // types[j]: 0 = a number, k = categories 0 … k − 1. apart[i]: each copy of row i is an entry of its own (and can be given
  // a target of its own); of the other rows, a tree has one entry that counts for all its copies.
  Forest(const Matrix& x, const std::uint32_t* types, const bool* apart, const ForestOptions& options);

  // The entries of all trees, tree after tree, and by rows within a tree; those of tree b begin at offsets()[b].
  const std::vector<std::uint32_t>& entry_rows() const { return rows_; }
  const std::vector<std::size_t>& offsets() const { return offsets_; }

  // One target for each entry; NaN: the entry is left out this time. Every tree must keep one.
  void fit(const double* targets);

  // Means, and where `variances` is not null variances, of the leaves that x ends in: trees × rows of x.
  void predict(const Matrix& x, double* means, double* variances) const;

  // For every configuration log10 of the mean cost over all instances, as each tree sees it: trees × configurations. A row
  // of the data is a configuration followed by an instance.
  void predict_marginal(const Matrix& configurations, const Matrix& instances, double* out) const;

  // Functional analysis of variance of each tree, averaged over instances: its variance (trees), and that of the effect of
  // each column of the configuration (trees × columns).
  void variances(const Domain& domain, const Matrix& instances, double* totals, double* effects) const;

  // Variance of what pairs of columns do together beyond what each does alone: trees × pairs.
  void interactions(const Domain& domain, const Matrix& instances,
                    const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs, double* out) const;

  // The mean given that a column is active and has the value x, in each tree: trees × n.
  void curve(const Domain& domain, const Matrix& instances, std::uint32_t column, const double* x, std::size_t n,
             double* out) const;

  const std::vector<Tree>& trees() const { return trees_; }

 private:
  void draw_entries(const bool* apart, std::size_t rows);

  ForestOptions options_;
  std::vector<Column> columns_;
  std::vector<std::uint32_t> rows_, weights_;  // of the entries
  std::vector<std::size_t> offsets_;
  std::vector<double> reciprocals_;
  std::vector<Tree> trees_;
};

}  // namespace capra
