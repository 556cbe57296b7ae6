#include "anova.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace capra {
namespace {

constexpr double kWhole = 1.0 - 1e-12;

std::vector<double> running_sums(const std::vector<double>& shares) {
  std::vector<double> sums(shares.size() + 1, 0.0);
  std::partial_sum(shares.begin(), shares.end(), sums.begin() + 1);
  for (double& sum : sums) sum /= sums.back();
  return sums;
}

double centre(const Tree& tree) {
  double sum = 0.0;
  for (const Node& node : tree.nodes) sum += node.is_leaf() ? node.value : 0.0;
  return sum / static_cast<double>(tree.leaves.size());
}

}  // namespace

// --- cells ---

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

// --- from the tree to its leaves ---

Leaves::Leaves(const Tree& tree, const Domain& domain, const Matrix& instances, std::uint32_t active)
    : tree_(tree), domain_(domain), instances_(instances), active_(active), order_(instances.rows) {
  std::iota(order_.begin(), order_.end(), 0);
  centre_ = centre(tree);
  entries_.resize(domain.columns());
  make_cells();
  make_groups();
  leaf_of_.assign(tree.nodes.size(), kNone);
  for (const Node& node : tree.nodes) {
    const bool number = !node.is_leaf() && node.column() < domain.columns() && !(node.feature & Node::kCategorical);
    cut_.push_back(number ? cells_[node.column()].below(node.value) : 0);
  }
  for (std::uint32_t j = 0; j < domain.columns(); ++j) reach_.push_back(everything(j));
  box_ = reach_;
  if (active != kNone) {
    mass_ = add_group(group_of_[active]);
    for (auto& entries : entries_) entries.clear();
    parts_.clear();
  }
  descend(0, 0, order_.size());
  for (const Reached& leaf : leaves_) mean_ += leaf.value * leaf.volume;
}

void Leaves::make_cells() {
  std::vector<std::vector<double>> cuts(domain_.columns());
  for (const Node& node : tree_.nodes) {
    if (!node.is_leaf() && node.column() < domain_.columns() && !(node.feature & Node::kCategorical)) {
      cuts[node.column()].push_back(node.value);
    }
  }
  for (const Condition& condition : domain_.conditions) {
    for (const Term& term : condition) {
      for (const Literal& literal : term) {
        cuts[literal.column].push_back(literal.low);
        cuts[literal.column].push_back(literal.high);
      }
    }
  }
  cells_.resize(domain_.columns());
  for (std::size_t j = 0; j < domain_.columns(); ++j) {
    if (domain_.categories[j]) {
      cells_[j].from_categories(domain_.categories[j]);
    } else if (!domain_.atoms[j].empty()) {
      cells_[j].from_atoms(domain_.atoms[j]);
    } else {
      cells_[j].from_cuts(std::move(cuts[j]));
    }
  }
}

// Joins what conditions tie together; depth orders a group: parents first.
void Leaves::make_groups() {
  const auto columns = static_cast<std::uint32_t>(domain_.columns());
  std::vector<std::uint32_t> depth(columns, 0);
  group_of_.resize(columns);
  std::iota(group_of_.begin(), group_of_.end(), 0);
  for (std::uint32_t round = 0; round < columns; ++round) {  // until nothing changes; a cycle would go on for ever
    bool changed = false;
    for (std::uint32_t j = 0; j < columns; ++j) {
      for (const Term& term : domain_.conditions[j]) {
        for (const Literal& literal : term) {
          const std::uint32_t first = std::min(group_of_[j], group_of_[literal.column]);
          changed |= group_of_[j] != first || group_of_[literal.column] != first || depth[j] <= depth[literal.column];
          group_of_[j] = group_of_[literal.column] = first;
          depth[j] = std::max(depth[j], depth[literal.column] + 1);
        }
      }
    }
    if (!changed) break;
  }
  groups_.resize(columns);
  for (std::uint32_t j = 0; j < columns; ++j) groups_[group_of_[j]].push_back(j);
  for (auto& group : groups_) {
    std::stable_sort(group.begin(), group.end(), [&](auto a, auto b) { return depth[a] < depth[b]; });
  }
}

Leaves::Values Leaves::everything(std::uint32_t column) const {
  const std::uint32_t categories = domain_.categories[column];
  Values found{{0, cells_[column].count()}, std::vector<std::uint64_t>((categories + 63) / 64, 0),
               !domain_.conditions[column].empty()};
  for (std::uint32_t k = 0; k < categories; ++k) found.bits[k / 64] |= 1ULL << (k % 64);
  return found;
}

bool Leaves::has_values(std::uint32_t column, const Values& values) const {
  if (!domain_.categories[column]) return values.range.first < values.range.second;
  return std::any_of(values.bits.begin(), values.bits.end(), [](std::uint64_t word) { return word != 0; });
}

Leaves::Values Leaves::side_of(std::uint32_t at, const Values& before, bool left) const {
  const Node& node = tree_.nodes[at];
  Values found = before;
  found.missing = before.missing && left == ((node.feature & Node::kMissingLeft) != 0);
  if (node.feature & Node::kCategorical) {
    for (std::size_t i = 0; i < found.bits.size(); ++i) {
      const std::uint64_t subset = tree_.subsets[node.subset + i];
      found.bits[i] &= left ? subset : ~subset;
    }
  } else {
    (left ? found.range.second : found.range.first) = std::clamp(cut_[at], before.range.first, before.range.second);
  }
  return found;
}

void Leaves::descend(std::uint32_t at, std::size_t begin, std::size_t end) {
  const Node& node = tree_.nodes[at];
  if (node.is_leaf()) return emit(at, static_cast<double>(end - begin) / static_cast<double>(order_.size()));
  if (node.column() >= domain_.columns()) {
    const std::size_t column = node.column() - domain_.columns();
    const auto middle = std::partition(order_.begin() + begin, order_.begin() + end, [&](std::uint32_t i) {
      return tree_.goes_left(node, instances_.row(i)[column]);
    });
    const auto place = static_cast<std::size_t>(middle - order_.begin());
    if (place > begin) descend(node.child, begin, place);
    if (place < end) descend(node.child + 1, place, end);
    return;
  }
  const std::uint32_t column = node.column();
  const Values before = reach_[column];
  for (const bool left : {true, false}) {
    reach_[column] = side_of(at, before, left);
    if (reach_[column].missing || has_values(column, reach_[column])) descend(node.child + !left, begin, end);
  }
  reach_[column] = before;
}

bool Leaves::is_touched(std::uint32_t column) const {
  const Values all = everything(column), &now = reach_[column];
  return now.missing != all.missing || now.range != all.range || now.bits != all.bits;
}

void Leaves::emit(std::uint32_t node, double share) {
  Reached found{(tree_.nodes[node].value - centre_) * share, 1.0, parts_.size(), 0};
  for (std::uint32_t group = 0; group < groups_.size() && found.volume > 0.0; ++group) {
    const bool asked = active_ != kNone && group_of_[active_] == group;
    const auto touched = [&](std::uint32_t column) { return is_touched(column); };
    if (asked || std::any_of(groups_[group].begin(), groups_[group].end(), touched)) found.volume *= add_group(group);
  }
  if (found.volume > 0.0) {
    found.end = parts_.size();
    leaf_of_[node] = leaves_.size();
    leaves_.push_back(found);
  } else {  // no configuration comes here
    parts_.resize(found.first);
    for (auto& entries : entries_) {
      while (!entries.empty() && entries.back().part >= found.first) entries.pop_back();
    }
  }
  if (sides_.size() > kMost) throw std::length_error("the conditions make too many boxes");
}

// The boxes of a group that reach the leaf, and their volume.
double Leaves::add_group(std::uint32_t group) {
  const std::size_t first = parts_.size();
  std::vector<std::uint32_t> conditional;
  for (const std::uint32_t j : groups_[group]) {
    const bool free = domain_.conditions[j].empty();
    box_[j] = free ? reach_[j] : everything(j);
    if (!free && (j == active_ || is_touched(j))) conditional.push_back(j);
  }
  expand(conditional, 0, group);
  double volume = 0.0;
  for (std::size_t i = first; i < parts_.size(); ++i) volume += parts_[i].volume;
  for (std::size_t i = first; i < parts_.size(); ++i) parts_[i].chance = parts_[i].volume / volume;
  return volume;
}

void Leaves::expand(const std::vector<std::uint32_t>& conditional, std::size_t next, std::uint32_t group) {
  if (next == conditional.size()) return add_part(group);
  const std::uint32_t column = conditional[next];
  const Literal* open = nullptr;
  const Truth active = activity(column, open);
  if (active == Truth::kMaybe) {
    split(*open, [&] { expand(conditional, next, group); });
  } else if (active == Truth::kNo) {
    if (reach_[column].missing && column != active_) expand(conditional, next + 1, group);
  } else if (has_values(column, reach_[column])) {
    const Values before = box_[column];
    box_[column] = reach_[column];
    expand(conditional, next + 1, group);
    box_[column] = before;
  }
}

void Leaves::add_part(std::uint32_t group) {
  Part part{group, sides_.size(), 0, 1.0, 0.0};
  std::vector<std::uint32_t> columns = groups_[group];
  std::sort(columns.begin(), columns.end());
  for (const std::uint32_t j : columns) {
    const std::size_t runs = runs_.size();
    const Side side = make_side(j);
    if (side.share >= kWhole) {
      runs_.resize(runs);
      continue;
    }
    entries_[j].push_back({leaves_.size(), parts_.size(), sides_.size()});
    sides_.push_back(side);
    part.volume *= side.share;
  }
  part.end = sides_.size();
  parts_.push_back(part);
}

Leaves::Side Leaves::make_side(std::uint32_t column) {
  Side found{column, runs_.size(), 0, 0.0};
  const auto has = [&](std::uint32_t k) { return box_[column].bits[k / 64] >> (k % 64) & 1; };
  if (!domain_.categories[column]) runs_.push_back(box_[column].range);
  for (std::uint32_t k = 0; k < domain_.categories[column]; ++k) {
    if (!has(k)) continue;
    const std::uint32_t first = k;
    while (k < domain_.categories[column] && has(k)) ++k;
    runs_.push_back({first, k});
  }
  found.end = runs_.size();
  for (std::size_t i = found.first; i < found.end; ++i) found.share += cells_[column].share(runs_[i].first, runs_[i].second);
  return found;
}

// --- conditions in a box ---

// At one end of the literal's interval at a time: whoever goes on looks again.
template <class Then>
void Leaves::split(const Literal& open, Then then) {
  Values& now = box_[open.column];
  const Values before = now;
  const std::uint32_t low = cells_[open.column].below(open.low), high = cells_[open.column].below(open.high);
  const std::uint32_t at = std::clamp(before.range.first < low ? low : high, before.range.first, before.range.second);
  for (const bool left : {true, false}) {
    if (domain_.categories[open.column]) {
      for (std::size_t i = 0; i < now.bits.size(); ++i) now.bits[i] = before.bits[i] & (left ? open.bits[i] : ~open.bits[i]);
    } else {
      now.range = left ? Run{before.range.first, at} : Run{at, before.range.second};
    }
    if (has_values(open.column, now)) then();
  }
  now = before;
}

Leaves::Truth Leaves::overlap(const Literal& literal) const {
  bool some = false, all = true;
  const Values& now = box_[literal.column];
  if (domain_.categories[literal.column]) {
    for (std::size_t i = 0; i < literal.bits.size(); ++i) {
      some |= (now.bits[i] & literal.bits[i]) != 0;
      all &= (now.bits[i] & ~literal.bits[i]) == 0;
    }
  } else {
    const std::uint32_t low = cells_[literal.column].below(literal.low), high = cells_[literal.column].below(literal.high);
    some = std::max(now.range.first, low) < std::min(now.range.second, high);
    all = low <= now.range.first && now.range.second <= high;
  }
  return !some ? Truth::kNo : all ? Truth::kYes : Truth::kMaybe;
}

Leaves::Truth Leaves::holds(const Literal& literal, const Literal*& open) const {
  const Truth value = overlap(literal);
  if (value == Truth::kNo) return value;
  const Truth active = activity(literal.column, open);
  if (active != Truth::kYes) return active;
  if (value == Truth::kMaybe) open = &literal;
  return value;
}

Leaves::Truth Leaves::activity(std::uint32_t column, const Literal*& open) const {
  const Condition& condition = domain_.conditions[column];
  if (condition.empty()) return Truth::kYes;
  Truth found = Truth::kNo;
  for (const Term& term : condition) {
    Truth all = Truth::kYes;
    const Literal* question = nullptr;
    for (const Literal& literal : term) {
      const Literal* asked = nullptr;
      const Truth one = holds(literal, asked);
      if (one == Truth::kMaybe && !question) question = asked;
      all = std::min(all, one);
      if (all == Truth::kNo) break;
    }
    if (all == Truth::kYes) return all;
    if (all == Truth::kMaybe && found == Truth::kNo) {
      found = all;
      open = question;
    }
  }
  return found;
}

// --- what the leaves say (Hutter, Hoos & Leyton-Brown 2014, §3) ---

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
