#pragma once
#include <cstddef>
#include <functional>
#include <vector>

#include "kernel.hpp"

namespace capra::network {

// Limited-memory BFGS (Nocedal & Wright, Alg. 7.4 and 7.5) on single-precision vectors of n floats (whole tiles of lanes).
class Lbfgs {
 public:
  using Loss = std::function<double(const float* at, float* gradient)>;

  Lbfgs(const Kernel& kernel, std::size_t n);
  // At most `iterations` line searches from `weights`, in place; ends early where single precision sees no progress.
  void minimise(const Loss& loss, std::size_t iterations, float* weights);

 private:
  struct Pair {
    std::vector<Aligned> s, y;
    double rho;
  };
  std::vector<Aligned> vector() const { return std::vector<Aligned>((n_ + 15) / 16, Aligned{}); }
  void direct(const float* gradient);
  bool search(const Loss& loss, double& value, float* weights, float* gradient);
  void remember(const float* weights, const float* gradient);

  const Kernel& kernel_;
  std::size_t n_;
  std::vector<Pair> pairs_;
  std::vector<Aligned> direction_, trial_, slope_;
};

}  // namespace capra::network
