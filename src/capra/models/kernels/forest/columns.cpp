#include "columns.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace capra {
namespace {

constexpr std::size_t kMaxCodes = 0xffff;
constexpr std::size_t kRadixFrom = 512;  // below, comparing is faster than counting
constexpr std::uint64_t kDigits = 2048;

// The upper half of a double's bits, changed so that comparing it as an integer never contradicts comparing the numbers.
std::uint64_t upper_half(double value) {
  std::uint64_t bits;
  value += 0.0;  // makes -0.0 equal to 0.0
  std::memcpy(&bits, &value, sizeof bits);
  bits ^= bits >> 63 ? ~0ULL : 1ULL << 63;
  return bits >> 32;
}

void radix_pass(std::vector<std::uint64_t>& keys, std::vector<std::uint64_t>& scratch, int shift) {
  std::vector<std::uint32_t> starts(kDigits + 1, 0);
  for (const std::uint64_t key : keys) ++starts[((key >> shift) & (kDigits - 1)) + 1];
  for (std::size_t i = 1; i <= kDigits; ++i) starts[i] += starts[i - 1];
  for (const std::uint64_t key : keys) scratch[starts[(key >> shift) & (kDigits - 1)]++] = key;
  keys.swap(scratch);
}

// Rows without NaN, by value. Keys carry half of the value above and the row below: three counting passes bring them into
// order, and only rows that agree in the upper half are compared.
std::vector<std::uint64_t> sorted_keys(const std::vector<double>& x) {
  std::vector<std::uint64_t> keys;
  keys.reserve(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!std::isnan(x[i])) keys.push_back(upper_half(x[i]) << 32 | i);
  }
  const auto by_value = [&](std::uint64_t a, std::uint64_t b) {
    return x[static_cast<std::uint32_t>(a)] < x[static_cast<std::uint32_t>(b)];
  };
  if (keys.size() < kRadixFrom) {
    std::sort(keys.begin(), keys.end(), by_value);
    return keys;
  }
  std::vector<std::uint64_t> scratch(keys.size());
  for (const int shift : {32, 43, 54}) radix_pass(keys, scratch, shift);
  for (auto first = keys.begin(); first != keys.end();) {
    auto end = first + 1;
    while (end != keys.end() && *end >> 32 == *first >> 32) ++end;
    if (end - first > 1) std::sort(first, end, by_value);
    first = end;
  }
  return keys;
}

void encode_numbers(Column& column, const std::vector<double>& x) {
  const auto keys = sorted_keys(x);
  std::vector<double> sorted;
  sorted.reserve(keys.size());
  std::size_t different = 0;
  for (const std::uint64_t key : keys) {
    const double value = x[static_cast<std::uint32_t>(key)];
    different += sorted.empty() || value != sorted.back();
    sorted.push_back(value);
  }
  const std::size_t codes = std::min(different, kMaxCodes);
  column.low.resize(codes);
  column.high.resize(codes);
  std::size_t rank = 0, code = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::size_t before = code;
    rank += i > 0 && sorted[i] != sorted[i - 1];
    code = codes == different ? rank : rank * codes / different;
    if (i == 0 || code != before) column.low[code] = sorted[i];
    column.high[code] = sorted[i];
    column.codes[static_cast<std::uint32_t>(keys[i])] = static_cast<Code>(code);
  }
  column.last = static_cast<Code>(code);
}

}  // namespace

Column encode(const double* x, std::size_t rows, std::size_t stride, std::uint32_t categories) {
  Column column;
  column.categories = categories;
  column.codes.assign(rows, kMissing);
  std::vector<double> values(rows);  // side by side: sorting jumps to and fro
  for (std::size_t i = 0; i < rows; ++i) values[i] = x[i * stride];
  if (categories > 0) {
    column.last = static_cast<Code>(categories - 1);
    for (std::size_t i = 0; i < rows; ++i) {
      if (!std::isnan(values[i])) column.codes[i] = static_cast<Code>(values[i]);
    }
  } else {
    encode_numbers(column, values);
  }
  column.missing = std::find(column.codes.begin(), column.codes.end(), kMissing) != column.codes.end();
  return column;
}

}  // namespace capra
