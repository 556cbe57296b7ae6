#include "marginal.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace capra {

Marginal::Marginal(const Tree& tree, std::size_t configuration, const Matrix& instances)
    : tree_(tree), configuration_(configuration), nodes_(1), instances_(instances.rows) {
  std::iota(instances_.begin(), instances_.end(), 0);
  tasks_.push_back({0, 0, 0, instances.rows});
  while (!tasks_.empty()) {
    const Task task = tasks_.back();
    tasks_.pop_back();
    copy(instances, task);
  }
  merge_leaves();
}

// Brings the instances of the task into the order left, right; answers where the right ones begin. Only their order
// changes, so the brother of a node above finds the same set in its place.
std::size_t Marginal::part(const Node& node, const Matrix& instances, const Task& task) {
  const std::size_t column = node.column() - configuration_;
  const auto middle = std::partition(instances_.begin() + task.begin, instances_.begin() + task.end, [&](std::uint32_t i) {
    return tree_.goes_left(node, instances.row(i)[column]);
  });
  return middle - instances_.begin();
}

void Marginal::copy(const Matrix& instances, Task task) {
  Node node = tree_.nodes[task.from];
  Task left = task, right = task;
  while (!node.is_leaf()) {
    if (node.column() < configuration_) break;
    const std::size_t middle = part(node, instances, task);
    if (middle > task.begin && middle < task.end) {
      left.end = right.begin = middle;
      node.feature = kBoth;
      break;
    }
    node = tree_.nodes[node.child + (middle == task.begin)];  // all instances go the same way
  }
  if (node.is_leaf()) {
    const double share = static_cast<double>(task.end - task.begin) / static_cast<double>(instances.rows);
    node.value = tree_.leaves[node.feature].linear * share;
  } else {
    const auto child = static_cast<std::uint32_t>(nodes_.size());
    nodes_.resize(nodes_.size() + 2);
    left.from = node.child;
    right.from = node.child + 1;
    left.to = node.child = child;
    right.to = child + 1;
    tasks_.push_back(left);
    tasks_.push_back(right);
  }
  nodes_[task.to] = node;
}

// Two leaves below a split of instances are one leaf. Children stand after their parents.
void Marginal::merge_leaves() {
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    Node& node = nodes_[i];
    if (node.is_leaf() || node.feature != kBoth) continue;
    const Node &left = nodes_[node.child], &right = nodes_[node.child + 1];
    if (!left.is_leaf() || !right.is_leaf()) continue;
    node.value = left.value + right.value;
    node.child = 0;
  }
}

double Marginal::operator()(const double* configuration, std::vector<std::uint32_t>& stack) const {
  double mean = 0.0;
  stack.assign(1, 0);
  while (!stack.empty()) {
    const Node* node = &nodes_[stack.back()];
    stack.pop_back();
    while (!node->is_leaf()) {
      if (node->feature == kBoth) {
        stack.push_back(node->child + 1);
        node = &nodes_[node->child];
      } else {
        node = &nodes_[node->child + !tree_.goes_left(*node, configuration[node->column()])];
      }
    }
    mean += node->value;
  }
  return tree_.shift + std::log10(std::max(mean, std::numeric_limits<double>::min()));
}

}  // namespace capra
