#pragma once
#include <cstdint>
#include <vector>

#include "narrow.hpp"
#include "split.hpp"

namespace capra {

// Grows a whole tree. Nodes with more items than Narrow takes are split by histograms of ranks.
//
// A node knows between which codes its items lie in every column, and divides that range into equally wide bins, at most
// kBins: cuts are tried between bins only, all of them when the range is short. Sorting every column at every node would
// take several times as long, and with hundreds of items between two bins at most a few make no difference.
class Wide {
 public:
  explicit Wide(const std::vector<Column>& columns) : narrow_(columns) {}
  // `items` is reordered.
  void grow(Growth& growth, std::vector<Item>& items);

 private:
  static constexpr std::uint32_t kBins = 256;

  struct Range {
    Code low, high;
  };
  struct Task {
    std::uint32_t begin, end, node;
    Totals totals;
    std::vector<Range> ranges;  // of each column's codes
  };

  void part(Growth& growth, std::vector<Item>& items, Task& task);
  void centre(const std::vector<Item>& items, const Task& task);
  bool look_numeric(const Growth& growth, std::uint32_t feature, const std::vector<Item>& items, Task& task,
                    const Score& score, Split& best);
  void scan(std::uint32_t feature, Range& range, int shift, const Bin& missing, const Score& score, Split& best);
  bool look_categorical(Growth& growth, std::uint32_t feature, const std::vector<Item>& items, const Task& task,
                        const Score& score, Split& best);
  Bin fill(const Column& column, const std::vector<Item>& items, const Task& task, Code low, int shift);
  std::uint32_t stable_part(const Column& column, std::vector<Item>& items, const Task& task, const Split& best,
                            Code& below, Code& above);
  void finish(Growth& growth, const std::vector<Item>& items, Task task);

  Narrow narrow_;
  std::vector<Task> tasks_;
  std::vector<Bin> parts_;  // of each item of the node
  std::vector<Bin> bins_;
  std::vector<Item> right_;
};

}  // namespace capra
