#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace capra {

using Code = std::uint16_t;
constexpr Code kMissing = 0xffff;  // NaN: an inactive parameter

// One column of the data, sorted once: all that growing needs of its values is their order.
//
// Numbers are coded by the rank of their value. Two bytes keep a column of 16,000 rows in the first-level cache. With more
// than 65,535 different values, neighbouring values share a code and cannot be parted.
struct Column {
  std::uint32_t categories = 0;   // 0: a number
  bool missing = false;           // some rows are NaN
  Code last = 0;                  // the largest code in use
  std::vector<Code> codes;        // of each row
  std::vector<double> low, high;  // numbers: the smallest and the largest value with a code
};

// Codes the column that starts at x with `stride` entries from row to row.
Column encode(const double* x, std::size_t rows, std::size_t stride, std::uint32_t categories);

}  // namespace capra
