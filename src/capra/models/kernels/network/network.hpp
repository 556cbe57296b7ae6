#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernel.hpp"
#include "loss.hpp"

namespace capra::network {

// How weights are found. Rates follow one cycle: up to `rate`, then down to nothing (Smith 2018).
enum class Optimizer : int { sgd, adam, lbfgs };

struct Recipe {
  Optimizer optimizer;
  std::size_t epochs;  // passes over the data; iterations of L-BFGS
  std::size_t batch;
  float rate;
  float decay;  // weight decay
  float clip;   // bound of every entry of a gradient
};

// Rows in the kernels' layout: `stride` floats each, the constant 1 of the bias after the inputs, then zeros.
struct Data {
  std::vector<float> x;
  std::size_t stride;
  const float* y;
  const std::uint8_t* censored;
  std::size_t rows;
};

// The layers of a network as a kernel wants them; `weights` counts the floats of its padded weights.
struct Plan {
  std::vector<Layer> layers;
  std::size_t weights;
  View view() const { return {layers.data(), layers.size()}; }
};

Plan plan(const std::vector<std::size_t>& sizes, std::size_t lanes);

// Dense weights (row after row, the bias last in each) to the padded layout of a plan, and back.
void spread(const Plan& plan, const float* dense, float* padded);
void gather(const Plan& plan, const float* padded, float* dense);
std::vector<float> padded_rows(const float* x, std::size_t rows, std::size_t columns, std::size_t stride);

// One thread's memory for one network.
class Workspace {
 public:
  explicit Workspace(const Plan& plan);
  Buffers buffers() { return {rows_.data(), units_.data(), delta_, outputs_}; }

 private:
  std::vector<std::vector<Aligned>> memory_;
  std::vector<float*> rows_, units_;
  float* delta_[2];
  float* outputs_;
};

// Mean loss over the rows named by `index`; adds its gradient to `gradient` unless that is null.
double loss_and_gradient(const Kernel& kernel, const Plan& plan, const Data& data, Head head, const std::uint32_t* index,
                         std::size_t count, const float* weights, Workspace& workspace, float* gradient);

// Train one network in place (padded weights). The same seed gives the same weights.
void train(const Kernel& kernel, const Plan& plan, const Data& data, Head head, const Recipe& recipe, std::uint64_t seed,
           float* weights);

// Location and scale of every row: out[2 i], out[2 i + 1].
void predict(const Kernel& kernel, const Plan& plan, const Data& data, const float* weights, float* out);

}  // namespace capra::network
