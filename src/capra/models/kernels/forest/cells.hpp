#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace capra {

// The values of one column that a tree cannot tell apart are one cell.
class Cells {
 public:
  void from_categories(std::uint32_t categories);
  void from_atoms(const std::vector<double>& atoms);
  void from_cuts(std::vector<double> cuts);

  std::uint32_t count() const { return static_cast<std::uint32_t>(sums_.size() - 1); }
  std::uint32_t below(double cut) const;  // cells with x ≤ cut
  std::uint32_t of(double x) const;
  double share(std::uint32_t first, std::uint32_t end) const { return sums_[end] - sums_[first]; }

 private:
  enum class Kind { kCategories, kAtoms, kCuts };
  Kind kind_ = Kind::kCuts;
  std::vector<double> marks_;  // the atoms, or the cuts inside of (0, 1)
  std::vector<double> sums_;   // of the cells' shares
};

}  // namespace capra
