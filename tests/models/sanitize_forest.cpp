// Drives the forest's kernel through its corners; `make sanitize` builds and runs it under the sanitizers.
#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

#include "forest/forest.hpp"

namespace {

using capra::Forest;
using capra::ForestOptions;
using capra::Matrix;
using capra::Random;

struct Case {
  std::size_t rows, columns;
  double missing;
  bool constant;
  std::uint32_t min_leaf;
  std::size_t different;  // values of a number; 0: as many as there are rows
};

std::vector<double> fill(const Case& now, const std::vector<std::uint32_t>& types, std::size_t rows, Random& random) {
  std::vector<double> x;
  for (std::size_t i = 0; i < rows; ++i) {
    for (const std::uint32_t type : types) {
      const bool coarse = type > 0 || now.different > 0;
      const auto values = static_cast<std::uint32_t>(type > 0 ? type : now.different);
      const double value = coarse ? random.below(values) : random.uniform() - 0.5;
      x.push_back(random.uniform() < now.missing ? std::nan("") : value);
    }
  }
  return x;
}

// Every third column is categorical.
std::vector<std::uint32_t> make_types(std::size_t columns) {
  std::vector<std::uint32_t> types(columns, 0);
  for (std::size_t j = 2; j < columns; j += 3) types[j] = j % 2 ? 5 : 130;
  return types;
}

// Every column is active where the one before has some of its values.
capra::Domain make_domain(const std::vector<std::uint32_t>& types) {
  capra::Domain domain{types, std::vector<std::vector<double>>(types.size()), std::vector<capra::Condition>(types.size())};
  for (std::uint32_t j = 0; j < types.size(); ++j) {
    if (j % 4 == 1 && !types[j]) domain.atoms[j] = {0.0, 0.25, 0.5, 1.0};
    if (j == 0) continue;
    capra::Literal literal{j - 1, 0.1, 0.7, std::vector<std::uint64_t>((types[j - 1] + 63) / 64, 0x5)};
    domain.conditions[j] = {{literal}};
  }
  return domain;
}

double analysis(const Forest& forest, const std::vector<std::uint32_t>& types, const Matrix& instances) {
  const capra::Domain domain = make_domain(types);
  const std::size_t trees = forest.trees().size(), columns = types.size();
  std::vector<double> totals(trees), effects(trees * columns), curve(trees * 2), joint(trees);
  forest.variances(domain, instances, totals.data(), effects.data());
  const double x[] = {0.0, 1.0};
  if (columns > 0) forest.curve(domain, instances, static_cast<std::uint32_t>(columns) - 1, x, 2, curve.data());
  if (columns > 1) forest.interactions(domain, instances, {{0, static_cast<std::uint32_t>(columns) - 1}}, joint.data());
  double sum = 0.0;
  for (std::size_t b = 0; b < trees; ++b) sum += totals[b] + joint[b];
  for (const double effect : effects) sum += effect;
  return sum;
}

double answers(const Case& now, std::size_t threads) {
  Random random(now.rows, now.columns);
  const auto types = make_types(now.columns);
  const auto x = fill(now, types, now.rows, random);
  const std::unique_ptr<bool[]> apart(new bool[now.rows]);
  for (std::size_t i = 0; i < now.rows; ++i) apart[i] = i % 4 == 0;
  ForestOptions options;
  options.trees = 7;
  options.threads = threads;
  options.settings = {now.min_leaf, 2, static_cast<std::uint32_t>((now.columns + 1) / 2)};
  Forest forest({x.data(), now.rows, now.columns}, types.data(), apart.get(), options);

  std::vector<double> targets(forest.entry_rows().size());
  for (double& target : targets) target = now.constant ? 1.0 : 3.0 * random.uniform();
  forest.fit(targets.data());
  for (std::size_t tree = 0; tree < options.trees; ++tree) {  // a refit with holes, but never a whole tree
    for (std::size_t i = forest.offsets()[tree] + 1; i < forest.offsets()[tree + 1]; i += 2) targets[i] = std::nan("");
  }
  forest.fit(targets.data());

  const std::size_t queries = 101, width = now.columns / 2;
  const auto q = fill(now, types, queries, random);
  std::vector<double> means(options.trees * queries), variances(options.trees * queries);
  forest.predict({q.data(), queries, now.columns}, means.data(), variances.data());
  const std::vector<std::uint32_t> left(types.begin(), types.begin() + width), right(types.begin() + width, types.end());
  const auto configurations = fill(now, left, queries, random), instances = fill(now, right, 30, random);
  std::vector<double> marginals(options.trees * queries);
  forest.predict_marginal({configurations.data(), queries, width}, {instances.data(), 30, now.columns - width},
                          marginals.data());
  double sum = 0.0;
  for (std::size_t i = 0; i < means.size(); ++i) sum += means[i] + variances[i] + marginals[i];
  if (now.rows < 1000) sum += analysis(forest, left, {instances.data(), 30, now.columns - width});
  return sum;
}

}  // namespace

int main() {
  const Case cases[] = {
      {1, 1, 0.0, false, 1, 0},      {2, 3, 0.0, false, 1, 0},   {50, 4, 0.3, false, 3, 0},  {50, 1, 1.0, false, 1, 0},
      {255, 6, 0.0, false, 1, 0},    {256, 6, 0.0, false, 1, 3}, {400, 5, 0.2, true, 1, 0},  {3000, 7, 0.1, false, 1, 0},
      {3000, 7, 0.0, false, 3, 600}, {2000, 3, 0.9, false, 5, 2}, {70000, 2, 0.0, false, 5, 0},
  };
  for (const Case& now : cases) {
    const double one = answers(now, 1), many = answers(now, 4);
    if (!std::isfinite(one) || one != many) {
      std::printf("%zu x %zu: one thread says %.17g, four say %.17g\n", now.rows, now.columns, one, many);
      return 1;
    }
  }
  std::printf("forest: clean\n");
}
