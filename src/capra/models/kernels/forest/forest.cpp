#include "forest.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "marginal.hpp"
#include "parallel.hpp"
#include "wide.hpp"

namespace capra {
namespace {

// Streams of random numbers: two for each tree.
std::uint64_t bootstrap_stream(std::size_t tree) { return 2 * tree; }
std::uint64_t split_stream(std::size_t tree) { return 2 * tree + 1; }

}  // namespace

Forest::Forest(const Matrix& x, const std::uint32_t* types, const bool* apart, const ForestOptions& options)
    : options_(options), columns_(x.columns), trees_(options.trees) {
  parallel(x.columns, options.threads,
           [&](std::size_t, std::size_t j) { columns_[j] = encode(x.data + j, x.rows, x.columns, types[j]); });
  draw_entries(apart, x.rows);
  reciprocals_.resize(x.rows + 1, 0.0);
  for (std::size_t k = 1; k <= x.rows; ++k) reciprocals_[k] = 1.0 / static_cast<double>(k);
}

// Hutter et al. 2013, Alg. 1 l. 1–8: n copies for each tree, whether they are censored or not.
void Forest::draw_entries(const bool* apart, std::size_t rows) {
  std::vector<std::uint32_t> counts(rows);
  for (std::size_t tree = 0; tree < options_.trees; ++tree) {
    offsets_.push_back(rows_.size());
    counts.assign(rows, options_.bootstrap ? 0 : 1);
    Random random(options_.seed, bootstrap_stream(tree));
    for (std::size_t i = 0; options_.bootstrap && i < rows; ++i) ++counts[random.below(static_cast<std::uint32_t>(rows))];
    for (std::uint32_t i = 0; i < rows; ++i) {
      const std::uint32_t entries = apart[i] ? counts[i] : counts[i] > 0;
      rows_.insert(rows_.end(), entries, i);
      weights_.insert(weights_.end(), entries, apart[i] ? 1 : counts[i]);
    }
  }
  offsets_.push_back(rows_.size());
}

void Forest::fit(const double* targets) {
  struct Scratch {
    explicit Scratch(const std::vector<Column>& columns) : wide(columns) {}
    Wide wide;
    std::vector<Item> items;
  };
  std::vector<std::unique_ptr<Scratch>> scratches(std::min(options_.threads, options_.trees));
  parallel(options_.trees, options_.threads, [&](std::size_t worker, std::size_t tree) {
    if (!scratches[worker]) scratches[worker] = std::make_unique<Scratch>(columns_);
    auto& items = scratches[worker]->items;
    items.clear();
    for (std::size_t i = offsets_[tree]; i < offsets_[tree + 1]; ++i) {
      if (!std::isnan(targets[i])) items.push_back({targets[i], rows_[i], weights_[i]});
    }
    Growth growth(columns_, options_.settings, reciprocals_, Random(options_.seed, split_stream(tree)), trees_[tree]);
    scratches[worker]->wide.grow(growth, items);
  });
}

void Forest::predict(const Matrix& x, double* means, double* variances) const {
  parallel(trees_.size(), options_.threads, [&](std::size_t, std::size_t b) {
    const Tree& tree = trees_[b];
    tree.walk(x, [&](std::size_t i, const Node& leaf) {
      means[b * x.rows + i] = leaf.value;
      if (variances) variances[b * x.rows + i] = tree.leaves[leaf.feature].variance;
    });
  });
}

void Forest::predict_marginal(const Matrix& configurations, const Matrix& instances, double* out) const {
  parallel(trees_.size(), options_.threads, [&](std::size_t, std::size_t b) {
    const Marginal marginal(trees_[b], configurations.columns, instances);
    std::vector<std::uint32_t> stack;
    for (std::size_t i = 0; i < configurations.rows; ++i) {
      out[b * configurations.rows + i] = marginal(configurations.row(i), stack);
    }
  });
}

void Forest::variances(const Domain& domain, const Matrix& instances, double* totals, double* effects) const {
  parallel(trees_.size(), options_.threads, [&](std::size_t, std::size_t b) {
    const Leaves leaves(trees_[b], domain, instances);
    totals[b] = leaves.variance();
    for (std::uint32_t j = 0; j < domain.columns(); ++j) effects[b * domain.columns() + j] = leaves.variance_of(j);
  });
}

void Forest::interactions(const Domain& domain, const Matrix& instances,
                          const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs, double* out) const {
  parallel(trees_.size(), options_.threads, [&](std::size_t, std::size_t b) {
    const Leaves leaves(trees_[b], domain, instances);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      out[b * pairs.size() + i] = leaves.interaction(pairs[i].first, pairs[i].second);
    }
  });
}

void Forest::curve(const Domain& domain, const Matrix& instances, std::uint32_t column, const double* x, std::size_t n,
                   double* out) const {
  parallel(trees_.size(), options_.threads, [&](std::size_t, std::size_t b) {
    const std::vector<double> found = Leaves(trees_[b], domain, instances, column).curve(column, x, n);
    std::copy(found.begin(), found.end(), out + b * n);
  });
}

}  // namespace capra
