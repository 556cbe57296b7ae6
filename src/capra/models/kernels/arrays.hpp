#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <initializer_list>

namespace capra {

// Arrays as the bindings take and give them.
template <class T>
using Rows = nanobind::ndarray<const T, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;
template <class T>
using Values = nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
template <class T, std::size_t N>
using Made = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<N>>;

// A new array; numpy frees it.
template <class T, std::size_t N>
Made<T, N> make_array(const std::size_t (&shape)[N]) {
  std::size_t size = 1;
  for (const std::size_t length : shape) size *= length;
  T* data = new T[size];
  nanobind::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return Made<T, N>(data, N, shape, owner);
}

}  // namespace capra
