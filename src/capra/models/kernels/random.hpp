#pragma once
#include <cstdint>

namespace capra {

// splitmix64's finaliser: every input bit reaches every output bit.
inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// splitmix64 (Steele, Lea & Flood 2014). One word of state, so every tree owns its streams, and what a tree draws does
// not depend on who else draws or on which thread.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream) : state_(mix(seed) ^ mix(~stream)) {}

  std::uint64_t next() {
    const std::uint64_t out = mix(state_);
    state_ += 0x9e3779b97f4a7c15ULL;
    return out;
  }
  bool coin() { return next() >> 63; }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }                    // [0, 1)
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(((next() >> 32) * n) >> 32); }  // 0 … n − 1

 private:
  std::uint64_t state_;
};

}  // namespace capra
