// What a solver meets: unit propagation, random dives to a contradiction, a short local search. Steps are counted, never
// seconds, and the dice are seeded by the formula, so that the same formula gives the same numbers on every machine.
#pragma once
#include "statistics.hpp"

namespace capra::cnf {

constexpr int kDives = 10, kTries = 3;
constexpr std::uint64_t kDiveVisits = 2'000'000;    // of clauses and literals, for each dive
constexpr std::uint64_t kSearchVisits = 5'000'000;  // for each try
constexpr std::uint32_t kFlips = 20'000;
constexpr std::array<std::uint32_t, 5> kDepths{1, 4, 16, 64, 256};

inline std::uint64_t seed_of(const Formula& formula) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a, a literal at a time
  const auto take = [&hash](std::int64_t word) { hash = (hash ^ static_cast<std::uint64_t>(word)) * 0x100000001b3ULL; };
  for (std::size_t c = 0; c < formula.clauses(); ++c) {
    for (const std::int32_t* l = formula.begin(c); l != formula.end(c); ++l) take(*l);
    take(0);
  }
  return hash;
}

// A partial assignment that is closed under unit propagation. A clause counts its false literals; when all but one are
// false, the last is looked for.
class Propagation {
 public:
  Propagation(const Formula& formula, const Occurrences& occurrences)
      : formula_(formula), occurrences_(occurrences), value_(static_cast<std::size_t>(formula.variables), 0),
        false_(formula.clauses(), 0) {}

  // Follow the unit clauses. False on a contradiction.
  bool start() {
    for (std::uint32_t c = 0; c < formula_.clauses(); ++c) {
      if (formula_.length(c) == 0) return false;
      if (formula_.length(c) == 1 && !set(*formula_.begin(c))) return false;
    }
    return propagate();
  }

  bool decide(std::int32_t literal) { return set(literal) && propagate(); }
  bool assigned(std::uint32_t variable) const { return value_[variable] != 0; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(trail_.size()); }
  std::uint64_t visits() const { return visits_; }

  void undo(std::uint32_t size) {
    while (trail_.size() > size) {
      const std::int32_t literal = trail_.back();
      trail_.pop_back();
      value_[variable(literal)] = 0;
      if (trail_.size() < next_) count(literal, -1);
    }
    next_ = size;
  }

 private:
  bool set(std::int32_t literal) {
    signed char& value = value_[variable(literal)];
    const signed char wanted = literal > 0 ? 1 : -1;
    if (value != 0) return value == wanted;
    value = wanted;
    trail_.push_back(literal);
    return true;
  }

  void count(std::int32_t literal, int step) {
    const std::uint32_t gone = slot(-literal);
    for (const std::uint32_t* c = occurrences_.begin(gone); c != occurrences_.end(gone); ++c)
      false_[*c] += static_cast<std::uint32_t>(step);
  }

  bool propagate() {
    while (next_ < trail_.size()) {
      const std::int32_t literal = trail_[next_++];
      count(literal, 1);  // all of it, so that undo finds whole counts
      const std::uint32_t gone = slot(-literal);
      visits_ += 1 + occurrences_.count(gone);
      for (const std::uint32_t* c = occurrences_.begin(gone); c != occurrences_.end(gone); ++c)
        if (false_[*c] + 1 >= formula_.length(*c) && !close(*c)) return false;
    }
    return true;
  }

  // All but one literal of the clause were counted as false, or all.
  bool close(std::uint32_t clause) {
    visits_ += formula_.length(clause);
    for (const std::int32_t* l = formula_.begin(clause); l != formula_.end(clause); ++l) {
      const signed char value = value_[variable(*l)];
      if (value == 0) return set(*l);
      if ((value > 0) == (*l > 0)) return true;
    }
    return false;
  }

  const Formula& formula_;
  const Occurrences& occurrences_;
  std::vector<signed char> value_;
  std::vector<std::uint32_t> false_;
  std::vector<std::int32_t> trail_;
  std::size_t next_ = 0;
  std::uint64_t visits_ = 0;
};

// Dives from the unit propagation's end: random variables get random values, until a contradiction or until nothing is
// free. What the last, contradictory decision propagated is not counted: it depends on the order of clauses.
class Dives {
 public:
  Dives(Propagation& propagation, std::uint32_t variables, std::uint64_t seed)
      : propagation_(propagation), random_(seed, 2), root_(propagation.size()) {
    for (std::uint32_t v = 0; v < variables; ++v)
      if (!propagation.assigned(v)) pool_.push_back(v);
    if (!pool_.empty())
      for (int dive = 0; dive < kDives; ++dive) make();
  }

  void write(Row& row) const {
    depths_.write(row, "dive_depth");
    row.add("dive_conflicts", conflicts_ / kDives);
    const auto free = static_cast<double>(pool_.size());
    for (std::size_t d = 0; d < kDepths.size(); ++d)
      row.add("propagated_" + std::to_string(kDepths[d]), share(propagated_[d] / kDives, free));
  }

 private:
  void make() {
    const std::uint64_t limit = propagation_.visits() + kDiveVisits;
    std::uint32_t depth = 0, next = 0, propagated = 0;
    const auto free = static_cast<std::uint32_t>(pool_.size());
    bool sound = true;
    for (std::size_t d = 0; d < kDepths.size(); ++d) {
      while (sound && depth < kDepths[d] && step(next, free, limit, sound)) {
        ++depth;
        if (sound) propagated = propagation_.size() - root_ - depth;
      }
      propagated_[d] += propagated;
    }
    while (sound && step(next, free, limit, sound)) ++depth;
    conflicts_ += !sound;
    depths_.add_count(depth);
    propagation_.undo(root_);
  }

  // One more decision; false if there is none to make.
  bool step(std::uint32_t& next, std::uint32_t free, std::uint64_t limit, bool& sound) {
    while (next < free && propagation_.visits() + next < limit) {
      std::swap(pool_[next], pool_[next + random_.below(free - next)]);
      const std::uint32_t drawn = pool_[next++];
      if (propagation_.assigned(drawn)) continue;
      const auto literal = static_cast<std::int32_t>(drawn + 1);
      sound = propagation_.decide(random_.coin() ? literal : -literal);
      return true;
    }
    return false;
  }

  Propagation& propagation_;
  Random random_;
  std::uint32_t root_;
  std::vector<std::uint32_t> pool_;
  Summary depths_;
  double conflicts_ = 0.0;
  std::array<double, kDepths.size()> propagated_{};
};

// WalkSAT/SKC (Selman, Kautz & Cohen 1994): a random unsatisfied clause; a literal that breaks no other clause if there is
// one, else with equal chances a random one or the first that breaks fewest.
class Walk {
 public:
  Walk(const Formula& formula, const Occurrences& occurrences, std::uint64_t seed)
      : formula_(formula), occurrences_(occurrences), random_(seed, 3), value_(static_cast<std::size_t>(formula.variables)),
        true_(formula.clauses()), place_(formula.clauses()) {
    if (formula.clauses() != 0)
      for (int attempt = 0; attempt < kTries; ++attempt) make();
  }

  void write(Row& row) const {
    row.add("walk_first_mean", first_.mean());
    row.add("walk_mean", average_.mean());
    row.add("walk_best_mean", best_.mean());
    row.add("walk_best_cv", best_.variation());
    row.add("walk_best_flip", flip_.mean());
    row.add("walk_solved", solved_ / kTries);
  }

 private:
  void make() {
    restart();
    const auto m = static_cast<double>(formula_.clauses());
    std::size_t best = broken_.size();
    std::uint32_t flips = 0, best_at = 0;
    double sum = static_cast<double>(best);
    first_.add(sum / m, 0);
    while (flips < kFlips && visits_ < kSearchVisits && !broken_.empty()) {
      flip(chosen(broken_[random_.below(static_cast<std::uint32_t>(broken_.size()))]));
      ++flips;
      sum += static_cast<double>(broken_.size());
      if (broken_.size() < best) {
        best = broken_.size();
        best_at = flips;
      }
    }
    average_.add(sum / (1.0 + flips) / m, 0);
    best_.add(static_cast<double>(best) / m, 0);
    flip_.add(static_cast<double>(best_at) / kFlips, 0);
    solved_ += broken_.empty();
  }

  bool holds(std::int32_t literal) const { return (value_[variable(literal)] != 0) == (literal > 0); }

  void restart() {
    visits_ = 0;
    broken_.clear();
    for (char& value : value_) value = random_.coin();
    for (std::uint32_t c = 0; c < formula_.clauses(); ++c) {
      true_[c] = static_cast<std::uint32_t>(
          std::count_if(formula_.begin(c), formula_.end(c), [this](std::int32_t l) { return holds(l); }));
      if (true_[c] == 0) add(c);
    }
  }

  std::uint32_t breaks(std::int32_t literal) {
    const std::uint32_t place = slot(-literal);  // true now
    visits_ += occurrences_.count(place);
    return static_cast<std::uint32_t>(std::count_if(occurrences_.begin(place), occurrences_.end(place),
                                                    [this](std::uint32_t c) { return true_[c] == 1; }));
  }

  std::int32_t chosen(std::uint32_t clause) {
    const std::int32_t* best = formula_.begin(clause);
    std::uint32_t fewest = breaks(*best);
    for (const std::int32_t* l = best + 1; l != formula_.end(clause) && fewest > 0; ++l)
      if (const std::uint32_t count = breaks(*l); count < fewest) {
        fewest = count;
        best = l;
      }
    if (fewest > 0 && random_.coin()) best = formula_.begin(clause) + random_.below(formula_.length(clause));
    return *best;
  }

  void flip(std::int32_t literal) {
    value_[variable(literal)] = literal > 0;
    const std::uint32_t now = slot(literal), gone = slot(-literal);
    visits_ += 1 + occurrences_.count(now) + occurrences_.count(gone);
    for (const std::uint32_t* c = occurrences_.begin(now); c != occurrences_.end(now); ++c)
      if (true_[*c]++ == 0) remove(*c);
    for (const std::uint32_t* c = occurrences_.begin(gone); c != occurrences_.end(gone); ++c)
      if (--true_[*c] == 0) add(*c);
  }

  void add(std::uint32_t clause) {
    place_[clause] = static_cast<std::uint32_t>(broken_.size());
    broken_.push_back(clause);
  }
  void remove(std::uint32_t clause) {
    broken_[place_[clause]] = broken_.back();
    place_[broken_.back()] = place_[clause];
    broken_.pop_back();
  }

  const Formula& formula_;
  const Occurrences& occurrences_;
  Random random_;
  std::vector<char> value_;
  std::vector<std::uint32_t> true_, place_, broken_;
  std::uint64_t visits_ = 0;
  Summary first_, average_, best_, flip_;
  double solved_ = 0.0;
};

// All features. What unit propagation alone refutes is not probed further: its dives and walks are 0.
inline Row features(const char* text, std::size_t size) {
  const Formula formula = read_formula(text, size);
  const Occurrences occurrences(formula);
  const std::uint64_t seed = seed_of(formula);
  Row row;
  write_sizes(formula, row);
  write_clauses(formula, row);
  write_variables(formula, occurrences, row);
  write_graph(formula, occurrences, seed, row);
  Propagation propagation(formula, occurrences);
  const bool sound = propagation.start();
  row.add("refuted", !sound);
  row.add("fixed_variables", sound ? share(propagation.size(), formula.variables) : 0.0);
  const Formula nothing;
  const Occurrences nowhere(nothing);
  Dives(propagation, sound ? static_cast<std::uint32_t>(formula.variables) : 0, seed).write(row);
  Walk(sound ? formula : nothing, sound ? occurrences : nowhere, seed).write(row);
  return row;
}

}  // namespace capra::cnf
