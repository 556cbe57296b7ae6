#include "anova.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

// What the leaves say (Hutter, Hoos & Leyton-Brown 2014, §3); leaves.cpp makes them.
namespace capra {

// The mean given the column's cell minus the mean. Only what is bounded there moves: by weight · (1[x inside]/share − 1).
std::vector<double> Leaves::effect(std::uint32_t column) const {
  std::vector<double> found(cells_[column].count() + 1, 0.0);
  double all = 0.0;
  for (const Entry& entry : entries_[column]) {
    const double weight = leaves_[entry.leaf].value * leaves_[entry.leaf].volume * parts_[entry.part].chance;
    const Side& side = sides_[entry.side];
    all += weight;
    for (std::size_t i = side.first; i < side.end; ++i) {
      found[runs_[i].first] += weight / side.share;
      found[runs_[i].second] -= weight / side.share;
    }
  }
  std::partial_sum(found.begin(), found.end(), found.begin());
  found.pop_back();
  for (double& value : found) value -= all;
  return found;
}

double Leaves::variance_of(std::uint32_t column) const {
  const std::vector<double> values = effect(column);
  double sum = 0.0;
  for (std::uint32_t k = 0; k < values.size(); ++k) sum += cells_[column].share(k, k + 1) * values[k] * values[k];
  return sum;
}

// weight · (1[x]/share − 1) · (1[y]/share' − 1) as the differences from cell to cell along both axes.
void Leaves::add_corners(std::vector<double>& grid, std::size_t width, double weight, const Side& one,
                         const Side& other) const {
  grid[0] += weight;
  for (std::size_t i = one.first; i < one.end; ++i) {
    grid[runs_[i].first * width] -= weight / one.share;
    grid[runs_[i].second * width] += weight / one.share;
  }
  for (std::size_t k = other.first; k < other.end; ++k) {
    grid[runs_[k].first] -= weight / other.share;
    grid[runs_[k].second] += weight / other.share;
  }
  const double both = weight / (one.share * other.share);
  for (std::size_t i = one.first; i < one.end; ++i) {
    for (std::size_t k = other.first; k < other.end; ++k) {
      grid[runs_[i].first * width + runs_[k].first] += both;
      grid[runs_[i].first * width + runs_[k].second] -= both;
      grid[runs_[i].second * width + runs_[k].first] -= both;
      grid[runs_[i].second * width + runs_[k].second] += both;
    }
  }
}

// Mean of the squares of the function with these differences.
double Leaves::squares(std::vector<double>& grid, std::uint32_t one, std::uint32_t other) const {
  const std::uint32_t rows = cells_[one].count(), columns = cells_[other].count();
  const std::size_t width = columns + 1;
  double sum = 0.0;
  for (std::uint32_t i = 0; i < rows; ++i) {
    double* row = &grid[i * width];
    double running = 0.0, line = 0.0;
    for (std::uint32_t k = 0; k < columns; ++k) {
      running += row[k];
      row[k] = running + (i > 0 ? row[k - width] : 0.0);
      line += cells_[other].share(k, k + 1) * row[k] * row[k];
    }
    sum += cells_[one].share(i, i + 1) * line;
  }
  return sum;
}

double Leaves::interaction(std::uint32_t one, std::uint32_t other) const {
  const std::size_t width = cells_[other].count() + 1;
  std::vector<double> grid((cells_[one].count() + 1) * width, 0.0);
  const bool tied = group_of_[one] == group_of_[other];
  const auto &left = entries_[one], &right = entries_[other];
  bool any = false;
  for (std::size_t i = 0, k = 0; i < left.size(); ++i) {
    const Reached& leaf = leaves_[left[i].leaf];
    while (k < right.size() && right[k].leaf < left[i].leaf) ++k;
    for (std::size_t m = k; m < right.size() && right[m].leaf == left[i].leaf; ++m) {
      if (tied && right[m].part != left[i].part) continue;
      const double chance = parts_[left[i].part].chance * (tied ? 1.0 : parts_[right[m].part].chance);
      add_corners(grid, width, leaf.value * leaf.volume * chance, sides_[left[i].side], sides_[right[m].side]);
      any = true;
    }
  }
  return any ? squares(grid, one, other) : 0.0;
}

double Leaves::common(const Side& one, const Side& other) const {
  double share = 0.0;
  for (std::size_t i = one.first, k = other.first; i < one.end && k < other.end;) {
    const Run a = runs_[i], b = runs_[k];
    const std::uint32_t first = std::max(a.first, b.first), end = std::min(a.second, b.second);
    if (first < end) share += cells_[one.column].share(first, end);
    a.second < b.second ? ++i : ++k;
  }
  return share;
}

double Leaves::common(const Part& one, const Part& other) const {
  double volume = 1.0;
  std::size_t i = one.first, k = other.first;
  while ((i < one.end || k < other.end) && volume > 0.0) {
    if (k == other.end || (i < one.end && sides_[i].column < sides_[k].column)) {
      volume *= sides_[i++].share;
    } else if (i == one.end || sides_[k].column < sides_[i].column) {
      volume *= sides_[k++].share;
    } else {
      volume *= common(sides_[i++], sides_[k++]);
    }
  }
  return volume;
}

// Volume of what reaches two leaves. ours[g]: the first part of group g in `one`, or the number of all parts.
double Leaves::common(const Reached& one, const std::vector<std::size_t>& ours, const Reached& other) const {
  double volume = one.volume;
  for (std::size_t k = other.first; k < other.end && volume > 0.0;) {
    const std::uint32_t group = parts_[k].group;
    const std::size_t first = ours[group];
    double alone = 0.0, together = 0.0, mine = 0.0;
    for (std::size_t i = first; i < one.end && parts_[i].group == group; ++i) mine += parts_[i].volume;
    for (; k < other.end && parts_[k].group == group; ++k) {
      alone += parts_[k].volume;
      for (std::size_t i = first; i < one.end && parts_[i].group == group; ++i) together += common(parts_[i], parts_[k]);
    }
    volume *= mine > 0.0 ? together / mine : alone;
  }
  return volume;
}

// The leaf's values of the columns that stand alone; the others are left as they are.
void Leaves::bound(const Reached& leaf, std::vector<Values>& box) const {
  for (std::size_t p = leaf.first; p < leaf.end; ++p) {
    if (groups_[parts_[p].group].size() > 1) continue;
    for (std::size_t s = parts_[p].first; s < parts_[p].end; ++s) {
      Values& values = box[sides_[s].column];
      values.range = {runs_[sides_[s].first].first, runs_[sides_[s].end - 1].second};
      std::fill(values.bits.begin(), values.bits.end(), 0);
      for (std::size_t r = sides_[s].first; r < sides_[s].end && !values.bits.empty(); ++r) {
        for (std::uint32_t k = runs_[r].first; k < runs_[r].second; ++k) values.bits[k / 64] |= 1ULL << (k % 64);
      }
    }
  }
}

template <class Found>
void Leaves::meet(const std::vector<Values>& box, std::vector<std::uint32_t>& stack, Found found) const {
  stack.assign(1, 0);
  while (!stack.empty()) {
    const std::uint32_t at = stack.back();
    stack.pop_back();
    const Node& node = tree_.nodes[at];
    bool left = true, right = true;
    if (node.is_leaf()) {
      if (leaf_of_[at] != kNone) found(leaf_of_[at]);
      continue;
    }
    const std::uint32_t column = node.column();
    if (column < domain_.columns() && groups_[group_of_[column]].size() == 1) {
      const Values& values = box[column];
      if (node.feature & Node::kCategorical) {
        left = right = false;
        for (std::size_t i = 0; i < values.bits.size(); ++i) {
          left |= (values.bits[i] & tree_.subsets[node.subset + i]) != 0;
          right |= (values.bits[i] & ~tree_.subsets[node.subset + i]) != 0;
        }
      } else {
        left = values.range.first < cut_[at];
        right = cut_[at] < values.range.second;
      }
    }
    if (left) stack.push_back(node.child);
    if (right) stack.push_back(node.child + 1);
  }
}

double Leaves::variance() const {
  double sum = 0.0;
  for (const Reached& leaf : leaves_) sum += leaf.value * leaf.value * leaf.volume;
  if (instances_.columns > 0) {  // leaves overlap
    std::vector<std::size_t> ours(groups_.size(), parts_.size());
    std::vector<std::uint32_t> stack;
    const std::vector<Values>& all = reach_;  // as before the first split
    std::vector<Values> box = all;
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      const Reached& one = leaves_[i];
      for (std::size_t p = one.end; p-- > one.first;) ours[parts_[p].group] = p;
      bound(one, box);
      meet(box, stack, [&](std::size_t k) {
        if (k > i) sum += 2.0 * one.value * leaves_[k].value * common(one, ours, leaves_[k]);
      });
      for (std::size_t p = one.first; p < one.end; ++p) {
        ours[parts_[p].group] = parts_.size();
        for (std::size_t s = parts_[p].first; s < parts_[p].end; ++s) box[sides_[s].column] = all[sides_[s].column];
      }
    }
  }
  return std::max(0.0, sum - mean_ * mean_);
}

std::vector<double> Leaves::curve(std::uint32_t column, const double* x, std::size_t n) const {
  const std::vector<double> moved = effect(column);
  std::vector<double> found(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t cell = std::min(cells_[column].of(x[i]), cells_[column].count() - 1);
    found[i] = mass_ > 0.0 ? centre_ + (mean_ + moved[cell]) / mass_ : std::nan("");
  }
  return found;
}

}  // namespace capra
