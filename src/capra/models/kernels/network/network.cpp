#include "network.hpp"

#include <algorithm>
#include <cstring>

namespace capra::network {
namespace {

constexpr std::size_t round_up(std::size_t n, std::size_t step) { return (n + step - 1) / step * step; }

std::vector<Aligned> zeros(std::size_t floats) { return std::vector<Aligned>(round_up(floats, 16) / 16, Aligned{}); }

void fill_tile(const Data& data, const std::uint32_t* index, std::size_t count, float* rows) {
  for (std::size_t b = 0; b < count; ++b)
    std::memcpy(rows + b * data.stride, data.x.data() + index[b] * data.stride, data.stride * sizeof(float));
}

}  // namespace

Plan plan(const std::vector<std::size_t>& sizes, std::size_t lanes) {
  Plan out{{}, 0};
  for (std::size_t l = 0; l + 1 < sizes.size(); ++l) {
    const Layer layer{sizes[l], sizes[l + 1], round_up(sizes[l] + 1, lanes), out.weights};
    out.layers.push_back(layer);
    out.weights += layer.out * layer.stride;
  }
  return out;
}

void spread(const Plan& plan, const float* dense, float* padded) {
  for (const Layer& layer : plan.layers)
    for (std::size_t j = 0; j < layer.out; ++j, dense += layer.in + 1)
      std::copy_n(dense, layer.in + 1, padded + layer.offset + j * layer.stride);
}

void gather(const Plan& plan, const float* padded, float* dense) {
  for (const Layer& layer : plan.layers)
    for (std::size_t j = 0; j < layer.out; ++j, dense += layer.in + 1)
      std::copy_n(padded + layer.offset + j * layer.stride, layer.in + 1, dense);
}

std::vector<float> padded_rows(const float* x, std::size_t rows, std::size_t columns, std::size_t stride) {
  std::vector<float> out(rows * stride, 0.0f);
  for (std::size_t i = 0; i < rows; ++i) {
    std::copy_n(x + i * columns, columns, out.data() + i * stride);
    out[i * stride + columns] = 1.0f;
  }
  return out;
}

Workspace::Workspace(const Plan& plan) {
  std::size_t widest = 2;
  const auto take = [this](std::size_t floats) {
    memory_.push_back(zeros(floats));
    return memory_.back().data()->lane;
  };
  for (const Layer& layer : plan.layers) {
    widest = std::max({widest, layer.in, layer.out});
    rows_.push_back(take(kTile * layer.stride));
    units_.push_back(take(kTile * layer.in));
    for (std::size_t b = 0; b < kTile; ++b) rows_.back()[b * layer.stride + layer.in] = 1.0f;
  }
  for (float*& delta : delta_) delta = take(kTile * widest);
  outputs_ = take(2 * kTile);
}

double loss_and_gradient(const Kernel& kernel, const Plan& plan, const Data& data, Head head, const std::uint32_t* index,
                         std::size_t count, const float* weights, Workspace& workspace, float* gradient) {
  const Buffers at = workspace.buffers();
  double total = 0.0;
  for (std::size_t start = 0; start < count; start += kTile) {
    const std::size_t size = std::min(kTile, count - start);
    float y[kTile];
    std::uint8_t censored[kTile];
    for (std::size_t b = 0; b < size; ++b) {
      y[b] = data.y[index[start + b]];
      censored[b] = data.censored[index[start + b]];
    }
    fill_tile(data, index + start, size, at.rows[0]);
    kernel.forward(plan.view(), weights, at, gradient != nullptr);
    total += tile_loss(head, at.outputs, y, censored, size, 1.0 / static_cast<double>(count), at.delta[0]);
    if (gradient != nullptr) kernel.backward(plan.view(), weights, at, gradient);
  }
  return total;
}

void predict(const Kernel& kernel, const Plan& plan, const Data& data, const float* weights, float* out) {
  Workspace workspace(plan);
  const Buffers at = workspace.buffers();
  for (std::size_t start = 0; start < data.rows; start += kTile) {
    const std::size_t size = std::min(kTile, data.rows - start);
    std::memcpy(at.rows[0], data.x.data() + start * data.stride, size * data.stride * sizeof(float));
    kernel.forward(plan.view(), weights, at, false);
    for (std::size_t b = 0; b < size; ++b) {
      out[2 * (start + b)] = at.outputs[b];
      out[2 * (start + b) + 1] = static_cast<float>(scale_of(at.outputs[kTile + b]));
    }
  }
}

}  // namespace capra::network
