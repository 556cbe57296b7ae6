#pragma once
#include <cstddef>

namespace capra {

// A rectangle of numbers, row by row; somebody else owns them.
struct Matrix {
  const double* data;
  std::size_t rows, columns;

  const double* row(std::size_t i) const { return data + i * columns; }
};

}  // namespace capra
