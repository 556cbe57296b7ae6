// SAPS: scaling and probabilistic smoothing, a dynamic local search for SAT (Hutter, Tompkins & Hoos 2002).
//
// A step is every iteration of the loop in `search`, null flips included. All weights are `offset` + their stored part, so that
// smoothing, which adds the same amount to every weight, takes no time; penalties are kept in the same two parts.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

constexpr double kLocalMinimum = -0.1;  // a flip must gain more than this
constexpr double kLargestWeight = 1000.0;

class Random {  // SplitMix64 (Steele, Lea & Flood 2014)
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  int below(int n) { return static_cast<int>(uniform() * n); }

 private:
  std::uint64_t state_;
};

// Numbers from 0 that are in, in no particular order.
class Set {
 public:
  explicit Set(std::size_t size) : place_(size, -1) {}
  void add(int x) {
    place_[x] = static_cast<int>(members_.size());
    members_.push_back(x);
  }
  void remove(int x) {
    const int last = members_.back();
    members_[place_[x]] = last;
    place_[last] = place_[x];
    place_[x] = -1;
    members_.pop_back();
  }
  const std::vector<int>& members() const { return members_; }

 private:
  std::vector<int> members_, place_;
};

struct Span {
  const int* first;
  const int* last;
  const int* begin() const { return first; }
  const int* end() const { return last; }
};

// Literals are 2·variable for "true", 2·variable + 1 for "false"; variables count from 0.
struct Formula {
  int variables, clauses;
  std::vector<int> starts, literals;           // of clauses
  std::vector<int> where_starts, where;        // clauses of each literal

  Formula(int variables, int clauses, const int* starts, const int* signed_literals)
      : variables(variables), clauses(clauses), starts(starts, starts + clauses + 1), where_starts(2 * variables + 1) {
    for (int i = 0; i < this->starts[clauses]; ++i) {
      const int l = signed_literals[i];
      literals.push_back(l > 0 ? 2 * (l - 1) : 2 * (-l - 1) + 1);
      ++where_starts[literals.back() + 1];
    }
    for (int l = 0; l < 2 * variables; ++l) where_starts[l + 1] += where_starts[l];
    where.resize(literals.size());
    std::vector<int> next(where_starts.begin(), where_starts.end() - 1);
    for (int c = 0; c < clauses; ++c)
      for (int l : of_clause(c)) where[next[l]++] = c;
  }
  Span of_clause(int c) const { return {&literals[0] + starts[c], &literals[0] + starts[c + 1]}; }
  Span with(int literal) const { return {&where[0] + where_starts[literal], &where[0] + where_starts[literal + 1]}; }
};

// A sum of weights: stored parts, and how many of them there are.
struct Penalty {
  double stored = 0.0;
  int count = 0;
  void add(double w) { stored += w, ++count; }
  void remove(double w) { stored -= w, --count; }
};

class Search {
 public:
  Search(const Formula& formula, double alpha, double rho, double ps, double wp, std::uint64_t seed)
      : formula_(formula), alpha_(alpha), rho_(rho), ps_(ps), wp_(wp), random_(seed), value_(formula.variables),
        true_literals_(formula.clauses), true_sum_(formula.clauses), stored_(formula.clauses, 1.0), make_(formula.variables),
        break_(formula.variables), false_clauses_(formula.clauses), candidates_(formula.variables), total_(formula.clauses) {
    for (auto& value : value_) value = random_.bits() >> 63;
    for (int c = 0; c < formula.clauses; ++c) {
      for (int l : formula.of_clause(c))
        if (holds(l)) ++true_literals_[c], true_sum_[c] += l >> 1;
      if (true_literals_[c] == 0) becomes_false(c);
      if (true_literals_[c] == 1) break_[true_sum_[c]].add(stored_[c]);
    }
  }

  bool solved() const { return false_clauses_.members().empty(); }
  const std::vector<char>& values() const { return value_; }

  // Steps until solved, at most `cutoff`.
  std::int64_t run(std::int64_t cutoff) {
    std::int64_t steps = 0;
    for (; steps < cutoff && !solved(); ++steps) step();
    return steps;
  }

 private:
  bool holds(int literal) const { return value_[literal >> 1] != (literal & 1); }

  void step() {
    const double best = find_best();
    if (best < kLocalMinimum) {
      flip(ties_[ties_.size() == 1 ? 0 : random_.below(static_cast<int>(ties_.size()))]);
    } else if (random_.uniform() < wp_) {
      flip(random_.below(formula_.variables));
    } else {  // a null flip
      if (random_.uniform() < ps_) smooth();
      scale();
    }
  }

  // The least break − make penalty of a variable in a false clause; those that have it are in `ties_`.
  double find_best() {
    double best = 1e300;
    for (int v : candidates_.members()) {
      const double score = break_[v].stored - make_[v].stored + offset_ * (break_[v].count - make_[v].count);
      if (score > best) continue;
      if (score < best) ties_.clear(), best = score;
      ties_.push_back(v);
    }
    return best;
  }

  void flip(int v) {
    const int now_false = 2 * v + (value_[v] ? 0 : 1), now_true = now_false ^ 1;
    value_[v] ^= 1;
    for (int c : formula_.with(now_true)) {
      const int before = true_literals_[c]++;
      if (before == 0) becomes_true(c), break_[v].add(stored_[c]);
      if (before == 1) break_[true_sum_[c]].remove(stored_[c]);
      true_sum_[c] += v;
    }
    for (int c : formula_.with(now_false)) {
      const int after = --true_literals_[c];
      true_sum_[c] -= v;
      if (after == 0) becomes_false(c), break_[v].remove(stored_[c]);
      if (after == 1) break_[true_sum_[c]].add(stored_[c]);
    }
  }

  void becomes_true(int c) {
    false_clauses_.remove(c);
    for (int l : formula_.of_clause(c)) {
      make_[l >> 1].remove(stored_[c]);
      if (make_[l >> 1].count == 0) candidates_.remove(l >> 1);
    }
  }

  void becomes_false(int c) {
    false_clauses_.add(c);
    for (int l : formula_.of_clause(c)) {
      if (make_[l >> 1].count == 0) candidates_.add(l >> 1);
      make_[l >> 1].add(stored_[c]);
    }
  }

  void smooth() {
    const double mean = total_ / formula_.clauses;
    offset_ += (1.0 - rho_) * mean;
    total_ += (1.0 - rho_) * mean * formula_.clauses;
  }

  void scale() {
    for (int c : false_clauses_.members()) {
      if (stored_[c] + offset_ > kLargestWeight) {
        rescale();
        break;
      }
    }
    for (int c : false_clauses_.members()) {
      const double more = (alpha_ - 1.0) * (stored_[c] + offset_);
      stored_[c] += more;
      total_ += more;
      for (int l : formula_.of_clause(c)) make_[l >> 1].stored += more;
    }
  }

  // Divides all weights, and sums everything up anew, so that rounding errors do not grow.
  void rescale() {
    for (auto& p : make_) p.stored = 0.0;
    for (auto& p : break_) p.stored = 0.0;
    total_ = 0.0;
    for (int c = 0; c < formula_.clauses; ++c) {
      stored_[c] = (stored_[c] + offset_) / kLargestWeight;
      total_ += stored_[c];
      if (true_literals_[c] == 1) break_[true_sum_[c]].stored += stored_[c];
      if (true_literals_[c] == 0)
        for (int l : formula_.of_clause(c)) make_[l >> 1].stored += stored_[c];
    }
    offset_ = 0.0;
  }

  const Formula& formula_;
  const double alpha_, rho_, ps_, wp_;
  Random random_;
  std::vector<char> value_;
  std::vector<int> true_literals_, true_sum_;  // of clauses; the sum of true variables is the one where there is one
  std::vector<double> stored_;                 // weights of clauses, less offset_
  double offset_ = 0.0;
  std::vector<Penalty> make_, break_;          // weights of clauses that a flip makes true, and false
  Set false_clauses_, candidates_;
  double total_;
  std::vector<int> ties_;
};

}  // namespace

extern "C" {

Formula* saps_formula(int variables, int clauses, const int* starts, const int* literals) {
  return new Formula(variables, clauses, starts, literals);
}

void saps_free(Formula* formula) { delete formula; }

// One run per seed. `models` may be null; else it gets the last assignment of every run, runs × variables.
void saps_run(const Formula* formula, double alpha, double rho, double ps, double wp, const std::uint64_t* seeds, int runs,
              std::int64_t cutoff, std::int64_t* steps, char* solved, char* models) {
  for (int i = 0; i < runs; ++i) {
    Search search(*formula, alpha, rho, ps, wp, seeds[i]);
    steps[i] = search.run(cutoff);
    solved[i] = search.solved();
    for (int v = 0; models != nullptr && v < formula->variables; ++v) *models++ = search.values()[v];
  }
}
}
