#include "cells.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace capra {
namespace {

std::vector<double> running_sums(const std::vector<double>& shares) {
  std::vector<double> sums(shares.size() + 1, 0.0);
  std::partial_sum(shares.begin(), shares.end(), sums.begin() + 1);
  for (double& sum : sums) sum /= sums.back();
  return sums;
}

}  // namespace

void Cells::from_categories(std::uint32_t categories) {
  kind_ = Kind::kCategories;
  sums_ = running_sums(std::vector<double>(categories, 1.0));
}

void Cells::from_atoms(const std::vector<double>& atoms) {
  kind_ = Kind::kAtoms;
  marks_ = atoms;
  sums_ = running_sums(std::vector<double>(atoms.size(), 1.0));
}

void Cells::from_cuts(std::vector<double> cuts) {
  kind_ = Kind::kCuts;
  cuts.erase(std::remove_if(cuts.begin(), cuts.end(), [](double cut) { return !(cut > 0.0 && cut < 1.0); }), cuts.end());
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  sums_.assign(1, 0.0);
  sums_.insert(sums_.end(), cuts.begin(), cuts.end());
  sums_.push_back(1.0);
  marks_ = std::move(cuts);
}

std::uint32_t Cells::below(double cut) const {
  if (kind_ == Kind::kCuts && cut >= 1.0) return count();
  if (kind_ == Kind::kCuts && cut <= 0.0) return 0;
  return static_cast<std::uint32_t>(std::upper_bound(marks_.begin(), marks_.end(), cut) - marks_.begin());
}

std::uint32_t Cells::of(double x) const {
  if (kind_ == Kind::kCategories) return static_cast<std::uint32_t>(x);
  if (kind_ == Kind::kCuts) {
    return static_cast<std::uint32_t>(std::lower_bound(marks_.begin(), marks_.end(), x) - marks_.begin());
  }
  const std::uint32_t up_to = below(x);  // atoms that are not above x: the last of them is meant
  return up_to > 0 ? up_to - 1 : 0;
}

}  // namespace capra
