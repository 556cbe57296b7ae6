// The Python face of the forest: shapes are checked here.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "forest.hpp"

namespace nb = nanobind;

namespace capra {
namespace {

constexpr std::size_t kMostRows = 0xffffffff;
constexpr std::uint32_t kMostCategories = 0xffff;

void require(bool right, const char* message) {
  if (!right) throw std::invalid_argument(message);
}

Matrix matrix(const Rows<double>& x) { return {x.data(), x.shape(0), x.shape(1)}; }

using PlainLiteral = std::tuple<std::uint32_t, double, double, std::vector<std::uint32_t>>;
using PlainCondition = std::vector<std::vector<PlainLiteral>>;
using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

Literal make_literal(const PlainLiteral& plain, const std::vector<std::uint32_t>& categories) {
  const auto& [column, low, high, meant] = plain;
  require(column < categories.size(), "a condition looks at a column that is not there");
  Literal literal{column, low, high, std::vector<std::uint64_t>((categories[column] + 63) / 64, 0)};
  for (const std::uint32_t k : meant) {
    require(k < categories[column], "a condition names a category that is not there");
    literal.bits[k / 64] |= 1ULL << (k % 64);
  }
  return literal;
}

Domain make_domain(const std::vector<std::uint32_t>& categories, const std::vector<std::vector<double>>& atoms,
                   const std::vector<PlainCondition>& conditions) {
  require(atoms.size() == categories.size() && conditions.size() == categories.size(),
          "atoms and conditions must have one entry per column");
  Domain domain{categories, atoms, std::vector<Condition>(conditions.size())};
  for (auto& codes : domain.atoms) std::sort(codes.begin(), codes.end());
  for (std::size_t j = 0; j < conditions.size(); ++j) {
    for (const auto& term : conditions[j]) {
      domain.conditions[j].emplace_back();
      for (const PlainLiteral& plain : term) domain.conditions[j].back().push_back(make_literal(plain, categories));
    }
  }
  return domain;
}

// The forest, and what its arguments must agree with.
struct BoundForest {
  BoundForest(Rows<double> x, Values<std::uint32_t> types, Values<bool> apart, const ForestOptions& options)
      : forest(make(x, types, apart, options)), width(x.shape(1)) {}

  static Forest make(const Rows<double>& x, const Values<std::uint32_t>& types, const Values<bool>& apart,
                     const ForestOptions& options) {
    require(x.shape(0) > 0 && x.shape(1) > 0 && x.shape(0) < kMostRows, "x has no entries, or too many rows");
    require(types.shape(0) == x.shape(1), "types must have one entry per column");
    require(apart.shape(0) == x.shape(0), "apart must have one entry per row");
    require(std::all_of(types.data(), types.data() + types.shape(0), [](std::uint32_t k) { return k <= kMostCategories; }),
            "a column has more than 65,535 categories");
    require(options.trees > 0 && options.threads > 0, "trees and threads must be positive");
    require(options.settings.min_leaf > 0 && options.settings.features > 0, "min_leaf and features must be positive");
    nb::gil_scoped_release release;
    return Forest(matrix(x), types.data(), apart.data(), options);
  }

  void fit(Values<double> targets) {
    require(targets.shape(0) == forest.entry_rows().size(), "targets must have one value per entry");
    const auto& offsets = forest.offsets();
    for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
      require(std::any_of(targets.data() + offsets[b], targets.data() + offsets[b + 1], [](double y) { return y == y; }),
              "a tree is left without targets");
    }
    nb::gil_scoped_release release;
    forest.fit(targets.data());
    fitted = true;
  }

  Made<double, 2> predict(Rows<double> x) const {
    auto means = room_for(x);
    nb::gil_scoped_release release;
    forest.predict(matrix(x), means.data(), nullptr);
    return means;
  }

  std::pair<Made<double, 2>, Made<double, 2>> predict_leaves(Rows<double> x) const {
    auto means = room_for(x), variances = room_for(x);
    nb::gil_scoped_release release;
    forest.predict(matrix(x), means.data(), variances.data());
    return {means, variances};
  }

  Made<double, 2> room_for(const Rows<double>& x) const {
    require(fitted, "the forest is not fitted");
    require(x.shape(1) == width, "x must have as many columns as the data");
    const std::size_t shape[] = {forest.trees().size(), x.shape(0)};
    return make_array<double>(shape);
  }

  Made<double, 2> predict_marginal(Rows<double> configurations, Rows<double> instances) const {
    require(fitted, "the forest is not fitted");
    require(configurations.shape(1) + instances.shape(1) == width, "configurations and instances must make up the columns");
    require(instances.shape(0) > 0, "instances must have at least one row");
    const std::size_t shape[] = {forest.trees().size(), configurations.shape(0)};
    auto out = make_array<double>(shape);
    nb::gil_scoped_release release;
    forest.predict_marginal(matrix(configurations), matrix(instances), out.data());
    return out;
  }

  void require_parts(const Domain& domain, const Rows<double>& instances) const {
    require(fitted, "the forest is not fitted");
    require(domain.columns() + instances.shape(1) == width, "domain and instances must make up the columns");
    require(instances.shape(0) > 0, "instances must have at least one row");
  }

  std::pair<Made<double, 1>, Made<double, 2>> variances(const Domain& domain, Rows<double> instances) const {
    require_parts(domain, instances);
    const std::size_t trees = forest.trees().size();
    const std::size_t sizes[] = {trees};
    const std::size_t shape[] = {trees, domain.columns()};
    auto totals = make_array<double>(sizes);
    auto effects = make_array<double>(shape);
    nb::gil_scoped_release release;
    forest.variances(domain, matrix(instances), totals.data(), effects.data());
    return {totals, effects};
  }

  Made<double, 2> interactions(const Domain& domain, Rows<double> instances, const Pairs& pairs) const {
    require_parts(domain, instances);
    for (const auto& [one, other] : pairs) {
      require(one < domain.columns() && other < domain.columns() && one != other, "a pair is not one of columns");
    }
    const std::size_t shape[] = {forest.trees().size(), pairs.size()};
    auto out = make_array<double>(shape);
    nb::gil_scoped_release release;
    forest.interactions(domain, matrix(instances), pairs, out.data());
    return out;
  }

  Made<double, 2> curve(const Domain& domain, Rows<double> instances, std::uint32_t column, Values<double> x) const {
    require_parts(domain, instances);
    require(column < domain.columns(), "there is no such column");
    const std::size_t shape[] = {forest.trees().size(), x.shape(0)};
    auto out = make_array<double>(shape);
    nb::gil_scoped_release release;
    forest.curve(domain, matrix(instances), column, x.data(), x.shape(0), out.data());
    return out;
  }

  template <class T, class From>
  static Made<T, 1> copied(const From& from) {
    const std::size_t shape[] = {from.size()};
    auto out = make_array<T>(shape);
    std::copy(from.begin(), from.end(), out.data());
    return out;
  }

  Forest forest;
  std::size_t width;
  bool fitted = false;
};

}  // namespace

void bind_forest(nb::module_& m) {
  nb::class_<Domain>(m, "Domain", "All configurations, equally likely: categories, codes of numbers, conditions.")
      .def(
          "__init__",
          [](Domain* self, const std::vector<std::uint32_t>& categories, const std::vector<std::vector<double>>& atoms,
             const std::vector<PlainCondition>& conditions) {
            new (self) Domain(make_domain(categories, atoms, conditions));
          },
          nb::kw_only(), nb::arg("categories"), nb::arg("atoms"), nb::arg("conditions"));
  nb::class_<BoundForest>(m, "Forest", "Regression trees on bootstrap samples that stay while targets change.")
      .def(
          "__init__",
          [](BoundForest* self, Rows<double> x, Values<std::uint32_t> types, Values<bool> apart, std::size_t trees,
             bool bootstrap, std::uint64_t seed, std::uint32_t min_leaf, std::uint32_t min_split, std::uint32_t features,
             std::size_t threads) {
            new (self) BoundForest(x, types, apart, {trees, bootstrap, seed, {min_leaf, min_split, features}, threads});
          },
          nb::kw_only(), nb::arg("x"), nb::arg("types"), nb::arg("apart"), nb::arg("trees"), nb::arg("bootstrap"),
          nb::arg("seed"), nb::arg("min_leaf"), nb::arg("min_split"), nb::arg("features"), nb::arg("threads"))
      .def_prop_ro("rows", [](const BoundForest& f) { return f.copied<std::int64_t>(f.forest.entry_rows()); },
                   nb::rv_policy::automatic, "The row of each entry, tree after tree.")
      .def_prop_ro("offsets", [](const BoundForest& f) { return f.copied<std::int64_t>(f.forest.offsets()); },
                   nb::rv_policy::automatic, "Where the entries of each tree begin; the last one: their number.")
      .def("fit", &BoundForest::fit, nb::arg("targets"), "One target per entry; NaN leaves it out.")
      .def("predict", &BoundForest::predict, nb::arg("x"), "What each tree predicts, (trees, n).")
      .def("predict_leaves", &BoundForest::predict_leaves, nb::arg("x"), "Means and variances in leaves, (trees, n) each.")
      .def("predict_marginal", &BoundForest::predict_marginal, nb::arg("configurations"), nb::arg("instances"),
           "log10 of the mean cost over instances in each tree, (trees, n).")
      .def("variances", &BoundForest::variances, nb::arg("domain"), nb::arg("instances"),
           "Variance of each tree, (trees,), and of each column's effect, (trees, d).")
      .def("interactions", &BoundForest::interactions, nb::arg("domain"), nb::arg("instances"), nb::arg("pairs"),
           "Variance of what pairs of columns do together beyond what each does alone, (trees, pairs).")
      .def("curve", &BoundForest::curve, nb::arg("domain"), nb::arg("instances"), nb::arg("column"), nb::arg("x"),
           "Mean given that a column is active and has the value x, (trees, n).");
}

}  // namespace capra
