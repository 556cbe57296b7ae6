// CNF formulas from DIMACS text that nobody has checked. Memory is bounded by the length of the text, never by what its header
// declares.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace capra::cnf {

constexpr std::int64_t kMostVariables = std::int64_t{1} << 27;

// Text that is not a formula: what is wrong, and in which line.
struct Malformed : std::runtime_error {
  Malformed(const std::string& what, std::size_t at_line) : std::runtime_error(what), line(at_line) {}
  std::size_t line;
};

// Clauses one after the other: clause c is literals[starts[c]] … literals[starts[c + 1] − 1]. A literal is ±(1 + variable).
struct Formula {
  std::int64_t declared = 0;  // variables, by the header
  std::int32_t variables = 0;
  std::vector<std::int32_t> literals;
  std::vector<std::uint32_t> starts{0};

  std::size_t clauses() const { return starts.size() - 1; }
  std::uint32_t length(std::size_t clause) const { return starts[clause + 1] - starts[clause]; }
  const std::int32_t* begin(std::size_t clause) const { return literals.data() + starts[clause]; }
  const std::int32_t* end(std::size_t clause) const { return literals.data() + starts[clause + 1]; }
};

inline std::uint32_t variable(std::int32_t literal) { return static_cast<std::uint32_t>(std::abs(literal)) - 1; }
inline std::uint32_t slot(std::int32_t literal) { return 2 * variable(literal) + (literal < 0); }

// The accepted text is that of targets/verify.py: comments, one header, as many closed clauses over as many variables as it
// declares, SATLIB's trailer.
class Reader {
 public:
  Reader(const char* text, std::size_t size) : begin_(text), at_(text), end_(text + size) {}

  Formula read() {
    Formula formula;
    const std::int64_t clauses = read_header(formula);
    read_clauses(formula);
    if (static_cast<std::int64_t>(formula.clauses()) != clauses)
      fail("the header declares " + std::to_string(clauses) + " clauses, the file has " + std::to_string(formula.clauses()),
           header_);
    return formula;
  }

 private:
  static bool blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  static bool digit(char c) { return c >= '0' && c <= '9'; }

  [[noreturn]] void fail(const std::string& what, const char* where) const {
    throw Malformed(what, 1 + static_cast<std::size_t>(std::count(begin_, where, '\n')));
  }

  // To the next word, past blanks and comment lines; false at the end of the text or at SATLIB's trailer.
  bool advance() {
    for (; at_ != end_; ++at_) {
      if (*at_ == '\n') {
        fresh_ = true;
        first_ = at_ + 1;
      } else if (*at_ == ' ' || *at_ == '\t') {
        continue;
      } else if (fresh_ && *at_ == 'c') {
        while (at_ + 1 != end_ && at_[1] != '\n') ++at_;
      } else if (*at_ == '%' && at_ == first_ && header_ != nullptr) {
        return false;
      } else {
        fresh_ = false;
        if (!blank(*at_)) return true;
      }
    }
    return false;
  }

  void blanks() {
    const char* from = at_;
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t')) ++at_;
    if (at_ == from) expect_header();
  }

  std::int64_t count() {
    std::int64_t value = 0;
    const char* from = at_;
    for (; at_ != end_ && digit(*at_); ++at_)
      if (at_ - from < 18) value = 10 * value + (*at_ - '0');
    if (at_ == from || at_ - from > 18) expect_header();
    return value;
  }

  void letters(const char* word) {
    for (; *word != '\0'; ++word, ++at_)
      if (at_ == end_ || *at_ != *word) expect_header();
  }

  [[noreturn]] void expect_header() const { fail("expected 'p cnf VARIABLES CLAUSES'", header_); }

  std::int64_t read_header(Formula& formula) {
    advance();
    header_ = at_;
    letters("p");
    blanks();
    letters("cnf");
    blanks();
    formula.declared = count();
    blanks();
    const std::int64_t clauses = count();
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r')) ++at_;
    if (at_ != end_ && *at_ != '\n') expect_header();
    if (formula.declared > kMostVariables) fail("more than " + std::to_string(kMostVariables) + " variables", header_);
    return clauses;
  }

  void read_clauses(Formula& formula) {
    while (advance()) {
      const std::int64_t literal = number(formula.declared);
      if (literal != 0) {
        formula.literals.push_back(static_cast<std::int32_t>(literal));
      } else {
        formula.starts.push_back(static_cast<std::uint32_t>(formula.literals.size()));
      }
    }
    if (formula.starts.back() != formula.literals.size()) fail("the last clause is not closed by 0", at_);
  }

  std::int64_t number(std::int64_t most) {
    const char* from = at_;
    if (*at_ == '-') ++at_;
    const char* digits = at_;
    std::int64_t value = 0;
    for (; at_ != end_ && digit(*at_); ++at_) value = std::min<std::int64_t>(10 * value + (*at_ - '0'), kMostVariables + 1);
    if (at_ == digits || (at_ != end_ && !blank(*at_))) fail("not a literal: '" + word(from) + "'", from);
    if (value > most)
      fail("a literal beyond the " + std::to_string(most) + " variables of the header: '" + word(from) + "'", from);
    return *from == '-' ? -value : value;
  }

  // The word for a message: at most 40 bytes, those that cannot be printed as '?'.
  std::string word(const char* from) const {
    std::string found;
    for (; from != end_ && !blank(*from) && found.size() < 40; ++from) found += *from > ' ' && *from < 127 ? *from : '?';
    return found;
  }

  const char *begin_, *at_, *end_;
  const char* first_ = begin_;       // of the line
  const char* header_ = nullptr;
  bool fresh_ = true;                // only blanks so far on this line
};

// The formula that is meant: variables that occur, counted from 0 without gaps; literals once per clause; no tautologies.
class Normaliser {
 public:
  explicit Normaliser(Formula& formula) : formula_(formula) {
    renumber();
    if (rewrite()) renumber();
  }

 private:
  void renumber() {
    formula_.variables = 0;
    std::int32_t most = 0;
    for (const std::int32_t literal : formula_.literals) most = std::max(most, std::abs(literal));
    // A table where it is no larger than the text was; a few literals with enormous numbers are sorted.
    if (static_cast<std::size_t>(most) <= 4 * formula_.literals.size() + 1024) {
      std::vector<std::int32_t> number(static_cast<std::size_t>(most) + 1, 0);
      for (const std::int32_t literal : formula_.literals) number[static_cast<std::size_t>(std::abs(literal))] = 1;
      for (std::int32_t& place : number) place = place != 0 ? ++formula_.variables : 0;
      for (std::int32_t& literal : formula_.literals)
        literal = (literal < 0 ? -1 : 1) * number[static_cast<std::size_t>(std::abs(literal))];
      return;
    }
    std::vector<std::int32_t> known;
    for (const std::int32_t literal : formula_.literals) known.push_back(std::abs(literal));
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    formula_.variables = static_cast<std::int32_t>(known.size());
    for (std::int32_t& literal : formula_.literals) {
      const auto at = std::lower_bound(known.begin(), known.end(), std::abs(literal)) - known.begin();
      literal = (literal < 0 ? -1 : 1) * static_cast<std::int32_t>(at + 1);
    }
  }

  // Were there tautologies?
  bool rewrite() {
    const std::size_t before = formula_.clauses();
    std::vector<std::uint32_t> seen(2 * static_cast<std::size_t>(formula_.variables), 0);  // the last clause, from 1
    std::vector<std::int32_t>& literals = formula_.literals;
    std::size_t to = 0, kept = 0;
    std::uint32_t from = 0;
    for (std::uint32_t c = 0; c < formula_.clauses(); ++c) {
      const std::uint32_t end = formula_.starts[c + 1];
      const std::size_t start = to;
      bool tautology = false;
      for (; from != end; ++from) {
        const std::uint32_t place = slot(literals[from]);
        if (seen[place] == c + 1) continue;
        seen[place] = c + 1;
        tautology |= seen[place ^ 1] == c + 1;
        literals[to++] = literals[from];
      }
      if (tautology) to = start;
      else formula_.starts[++kept] = static_cast<std::uint32_t>(to);
    }
    formula_.starts.resize(kept + 1);
    literals.resize(to);
    return kept != before;
  }

  Formula& formula_;
};

inline Formula read_formula(const char* text, std::size_t size) {
  Formula formula = Reader(text, size).read();
  Normaliser{formula};
  return formula;
}

// The clauses of every literal, in their order: those of slot(l) are clauses[starts[slot]] … clauses[starts[slot + 1] − 1].
struct Occurrences {
  explicit Occurrences(const Formula& formula)
      : starts(2 * static_cast<std::size_t>(formula.variables) + 2, 0), clauses(formula.literals.size()) {
    for (const std::int32_t literal : formula.literals) ++starts[slot(literal) + 2];
    for (std::size_t i = 2; i < starts.size(); ++i) starts[i] += starts[i - 1];
    for (std::uint32_t c = 0; c < formula.clauses(); ++c)
      for (const std::int32_t* l = formula.begin(c); l != formula.end(c); ++l) clauses[starts[slot(*l) + 1]++] = c;
  }

  std::uint32_t count(std::uint32_t place) const { return starts[place + 1] - starts[place]; }
  const std::uint32_t* begin(std::uint32_t place) const { return clauses.data() + starts[place]; }
  const std::uint32_t* end(std::uint32_t place) const { return clauses.data() + starts[place + 1]; }

  std::vector<std::uint32_t> starts, clauses;
};

}  // namespace capra::cnf
