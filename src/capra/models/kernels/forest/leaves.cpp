#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "anova.hpp"

namespace capra {
namespace {

constexpr double kWhole = 1.0 - 1e-12;

double centre(const Tree& tree) {
  double sum = 0.0;
  for (const Node& node : tree.nodes) sum += node.is_leaf() ? node.value : 0.0;
  return sum / static_cast<double>(tree.leaves.size());
}

}  // namespace

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

}  // namespace capra
