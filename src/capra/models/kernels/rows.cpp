#include "rows.hpp"

#include <cmath>
#include <cstring>

#include "random.hpp"

namespace capra {
namespace {

constexpr std::uint64_t kInactive = 0x7ff8000000000000ULL;

std::uint64_t bits(double value) {
  if (std::isnan(value)) return kInactive;
  if (value == 0.0) return 0;
  std::uint64_t out;
  std::memcpy(&out, &value, sizeof out);
  return out;
}

}  // namespace

void hash_rows(const double* data, std::size_t rows, std::size_t columns, std::uint64_t* out) {
  for (std::size_t i = 0; i < rows; ++i) {
    std::uint64_t h = mix(columns);
    for (std::size_t j = 0; j < columns; ++j) h = mix(h ^ bits(data[i * columns + j]));
    out[i] = h;
  }
}

}  // namespace capra
