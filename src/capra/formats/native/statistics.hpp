// What can be counted in a formula: lengths, balances, degrees.
#pragma once
#include <array>
#include <cmath>

#include "../../models/kernels/random.hpp"
#include "formula.hpp"

namespace capra::cnf {

constexpr std::uint64_t kGraphVisits = 50'000'000;
constexpr double kBins = 100.0;  // of shares, for their entropy

// Names and values, in the order in which they are appended.
struct Row {
  std::vector<std::string> names;
  std::vector<double> values;
  void add(const std::string& name, double value) {
    names.push_back(name);
    values.push_back(value);
  }
};

inline double share(double part, double whole) { return whole > 0.0 ? part / whole : 0.0; }

// Mean, variation coefficient, least, greatest, and entropy (natural) of values; all 0 if there are none. ``keys`` are what
// the entropy tells apart.
class Summary {
 public:
  void add(double value, std::uint32_t key) {
    if (count_ == 0) least_ = greatest_ = value;
    least_ = std::min(least_, value);
    greatest_ = std::max(greatest_, value);
    ++count_;
    const double step = value - mean_;  // Welford: one pass, no cancellation
    mean_ += step / static_cast<double>(count_);
    squares_ += step * (value - mean_);
    if (key >= keys_.size()) keys_.resize(key + std::size_t{1}, 0);
    ++keys_[key];
  }
  void add_count(std::uint32_t value) { add(value, value); }
  void add_share(double value) { add(value, static_cast<std::uint32_t>(kBins * value)); }

  void write(Row& row, const std::string& name) const {
    row.add(name + "_mean", mean_);
    row.add(name + "_cv", variation());
    row.add(name + "_min", least_);
    row.add(name + "_max", greatest_);
    row.add(name + "_entropy", entropy());
  }
  double mean() const { return mean_; }
  double variation() const { return mean_ > 0.0 ? std::sqrt(squares_ / static_cast<double>(count_)) / mean_ : 0.0; }

 private:
  double entropy() const {
    double sum = 0.0;
    for (const std::uint64_t key : keys_) {
      const double p = share(static_cast<double>(key), static_cast<double>(count_));
      if (p > 0.0) sum -= p * std::log(p);
    }
    return sum;
  }

  std::uint64_t count_ = 0;
  double mean_ = 0.0, squares_ = 0.0, least_ = 0.0, greatest_ = 0.0;
  std::vector<std::uint64_t> keys_;
};

inline double balance(double positive, double total) { return total > 0.0 ? 2.0 * std::fabs(0.5 - positive / total) : 0.0; }

inline void write_sizes(const Formula& formula, Row& row) {
  const auto n = static_cast<double>(formula.variables), m = static_cast<double>(formula.clauses());
  row.add("variables", n);
  row.add("clauses", m);
  row.add("literals", static_cast<double>(formula.literals.size()));
  row.add("log_variables", std::log10(std::max(n, 1.0)));
  row.add("log_clauses", std::log10(std::max(m, 1.0)));
  row.add("clauses_per_variable", share(m, n));
  row.add("variables_per_clause", share(n, m));
  row.add("unused_variables", formula.declared > 0 ? 1.0 - n / static_cast<double>(formula.declared) : 0.0);
}

inline void write_clauses(const Formula& formula, Row& row) {
  Summary lengths, balances;
  std::array<std::uint64_t, 4> of_length{};
  std::uint64_t positives = 0, horn = 0, dual = 0;
  for (std::size_t c = 0; c < formula.clauses(); ++c) {
    const std::uint32_t length = formula.length(c);
    const auto positive = static_cast<std::uint32_t>(
        std::count_if(formula.begin(c), formula.end(c), [](std::int32_t literal) { return literal > 0; }));
    lengths.add_count(length);
    balances.add_share(balance(positive, length));
    ++of_length[std::min<std::uint32_t>(length, 3)];
    of_length[3] -= length > 3;
    positives += positive;
    horn += positive <= 1;
    dual += length - positive <= 1;
  }
  const auto m = static_cast<double>(formula.clauses());
  lengths.write(row, "clause_length");
  row.add("unit_clauses", share(static_cast<double>(of_length[1]), m));
  row.add("binary_clauses", share(static_cast<double>(of_length[2]), m));
  row.add("ternary_clauses", share(static_cast<double>(of_length[3]), m));
  row.add("horn_clauses", share(static_cast<double>(horn), m));
  row.add("dual_horn_clauses", share(static_cast<double>(dual), m));
  row.add("positive_literals", share(static_cast<double>(positives), static_cast<double>(formula.literals.size())));
  balances.write(row, "clause_balance");
}

inline void write_variables(const Formula& formula, const Occurrences& occurrences, Row& row) {
  const auto n = static_cast<std::uint32_t>(formula.variables);
  std::vector<std::uint32_t> horn(n, 0);
  for (std::size_t c = 0; c < formula.clauses(); ++c) {
    const auto positive = std::count_if(formula.begin(c), formula.end(c), [](std::int32_t literal) { return literal > 0; });
    if (positive <= 1)
      for (const std::int32_t* l = formula.begin(c); l != formula.end(c); ++l) ++horn[variable(*l)];
  }
  Summary degrees, balances, horns;
  for (std::uint32_t v = 0; v < n; ++v) {
    const std::uint32_t positive = occurrences.count(2 * v), degree = positive + occurrences.count(2 * v + 1);
    degrees.add_count(degree);
    balances.add_share(balance(positive, degree));
    horns.add_share(share(horn[v], degree));
  }
  degrees.write(row, "variable_degree");
  balances.write(row, "variable_balance");
  horns.write(row, "variable_horn");
}

// Degrees in the graph of variables that share a clause. Counting takes Σ length² visits; where that is more than
// kGraphVisits, variables are drawn without replacement until the visits are used up.
inline void write_graph(const Formula& formula, const Occurrences& occurrences, std::uint64_t seed, Row& row) {
  const auto n = static_cast<std::uint32_t>(formula.variables);
  std::vector<std::uint32_t> order(n), seen(n, 0);
  for (std::uint32_t v = 0; v < n; ++v) order[v] = v;
  Random random(seed, 1);
  Summary degrees;
  std::uint64_t needed = 0, visits = 0;
  for (std::size_t c = 0; c < formula.clauses(); ++c) needed += std::uint64_t{formula.length(c)} * formula.length(c);
  for (std::uint32_t i = 0; i < n && visits < kGraphVisits; ++i) {
    if (needed > kGraphVisits) std::swap(order[i], order[i + random.below(n - i)]);
    const std::uint32_t v = order[i];
    std::uint32_t degree = 0;
    seen[v] = i + 1;
    for (const std::uint32_t* c = occurrences.begin(2 * v); c != occurrences.end(2 * v + 1); ++c) {
      visits += formula.length(*c);
      for (const std::int32_t* l = formula.begin(*c); l != formula.end(*c); ++l) {
        degree += seen[variable(*l)] != i + 1;
        seen[variable(*l)] = i + 1;
      }
    }
    degrees.add_count(degree);
  }
  degrees.write(row, "graph_degree");
}

}  // namespace capra::cnf
