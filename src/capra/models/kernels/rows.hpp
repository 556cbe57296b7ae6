#pragma once
#include <cstddef>
#include <cstdint>

namespace capra {

// One 64-bit hash per row. Rows are equal when every entry is equal; all NaNs count as equal (an inactive parameter has
// one meaning), and so do 0.0 and -0.0.
void hash_rows(const double* data, std::size_t rows, std::size_t columns, std::uint64_t* out);

}  // namespace capra
