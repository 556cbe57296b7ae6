#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "split.hpp"

namespace capra {

// Grows the part of a tree below a node with at most kMost items: exactly, and in the nearest cache.
//
// Its items are sorted once by every numeric column; a split keeps the order of both sides. An item is known by its number
// (one byte), and its value by its rank among the items (another byte), so that 50 columns of 255 items take 25 KB.
class Narrow {
 public:
  static constexpr std::uint32_t kMost = 255;

  explicit Narrow(const std::vector<Column>& columns);
  void grow(Growth& growth, const Item* items, std::uint32_t count, std::uint32_t node, const Totals& totals);

 private:
  using Id = std::uint16_t;     // number of an item
  using Place = std::uint16_t;  // rank << 8 | number of the item
  static constexpr std::uint32_t kMissingRank = 255;
  static constexpr std::size_t kStride = kMost + 1;

  struct Task {
    std::uint32_t begin, end, node;
    Totals totals;
  };

  void load(const std::vector<Column>& columns, const Item* items, std::uint32_t count);
  void sort_places(const Column& column, const Item* items, std::uint32_t count, Place* places);
  void part(Growth& growth, const Task& task);
  void centre(const Task& task);
  bool look_numeric(std::uint32_t feature, const Task& task, const Score& score, Split& best) const;
  bool look_with_missing(std::uint32_t feature, const Task& task, const Score& score, Split& best) const;
  bool look_categorical(Growth& growth, std::uint32_t feature, const Task& task, const Score& score, Split& best);
  void choose_sides(Growth& growth, const Task& task, Split& best);
  Task make_task(std::uint32_t begin, std::uint32_t end, std::uint32_t node) const;
  void part_places(const Growth& growth, const Task& left, const Task& right);
  void finish(Growth& growth, const Task& task);
  void make_leaf(Growth& growth, const Task& task);

  std::vector<Place> places_;  // column by column, kStride each
  std::vector<Code> codes_;    // categories of the items, in the same layout
  std::vector<Bin> bins_;      // of the categories
  std::vector<Task> tasks_;
  std::array<Item, kStride> items_;
  std::array<Item, kStride> leaf_;
  std::array<double, kStride> sums_;                // of an item: weight × (target − the node's mean)
  std::array<Id, kStride> ids_;                      // items by node
  std::array<std::uint8_t, kStride> is_left_;        // where an item goes
  std::array<std::uint32_t, kStride> weights_, keys_, other_keys_;
  std::array<std::uint16_t, kStride> others_;
};

}  // namespace capra
