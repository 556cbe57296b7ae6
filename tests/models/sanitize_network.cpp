// Trains small networks in threads, with every variant that this machine has, every optimiser and head (`make sanitize`).
// The driver has a variant of its own, 16 lanes wide in whatever instructions there are: AVX-512's arithmetic without AVX-512.
#define CAPRA_LANES 16
#include "network/kernel.inl"

#include <cmath>
#include <cstdio>
#include <thread>
#include <vector>

#include "network/network.hpp"
#include "network/dispatch.hpp"

using namespace capra::network;

namespace {

struct Problem {
  std::vector<float> x, y;
  std::vector<std::uint8_t> censored;
};

Problem problem(std::size_t rows, std::size_t columns) {
  Problem out;
  unsigned state = 1;
  const auto uniform = [&state] { return static_cast<float>((state = state * 1664525u + 1013904223u) >> 8) / 16777216.0f; };
  for (std::size_t i = 0; i < rows * columns; ++i) out.x.push_back(uniform());
  for (std::size_t i = 0; i < rows; ++i) out.y.push_back(4.0f * uniform() - 2.0f);
  for (std::size_t i = 0; i < rows; ++i) out.censored.push_back(uniform() < 0.4f);
  return out;
}

// Four networks at a time on shared data, as an ensemble is trained; their predictions.
std::vector<std::vector<float>> train_in_threads(const Kernel& kernel, const std::vector<std::size_t>& sizes, std::size_t rows,
                                                 const Recipe& recipe, Head head) {
  const Plan plan = capra::network::plan(sizes, kernel.lanes);
  const Problem given = problem(rows, sizes[0]);
  const std::size_t stride = plan.layers[0].stride;
  const Data data{padded_rows(given.x.data(), rows, sizes[0], stride), stride, given.y.data(), given.censored.data(), rows};
  std::vector<std::vector<float>> out(4, std::vector<float>(2 * rows));
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < out.size(); ++t)
    threads.emplace_back([&, t] {
      std::vector<Aligned> weights((plan.weights + 15) / 16, Aligned{});
      std::vector<float> start = problem(8192, 1).y;  // more numbers than the largest network has weights
      for (float& weight : start) weight *= 0.1f;
      spread(plan, start.data(), weights.data()->lane);
      train(kernel, plan, data, head, recipe, t, weights.data()->lane);
      predict(kernel, plan, data, weights.data()->lane, out[t].data());
    });
  for (std::thread& thread : threads) thread.join();
  return out;
}

// Whether two variants agree, within what single precision leaves after a few steps.
bool agree(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  for (std::size_t t = 0; t < a.size(); ++t)
    for (std::size_t i = 0; i < a[t].size(); ++i)
      if (!(std::fabs(a[t][i] - b[t][i]) <= 1e-3f * (1.0f + std::fabs(a[t][i])))) return false;  // also for NaN
  return true;
}

}  // namespace

int main() {
  static constexpr Kernel wide = make("wide");
  std::vector<const Kernel*> variants = kernels();
  variants.push_back(&wide);
  const std::vector<std::vector<std::size_t>> shapes = {{1, 2}, {5, 13, 7, 2}, {4, 50, 50, 50, 2}};
  for (const auto& sizes : shapes)
    for (const std::size_t rows : {std::size_t{1}, std::size_t{45}})
      for (const Optimizer optimizer : {Optimizer::sgd, Optimizer::adam, Optimizer::lbfgs})
        for (const Head head : {Head::normal, Head::weibull, Head::logistic}) {
          const Recipe recipe{optimizer, 3, 16, 1e-2f, 1e-4f, 0.1f};
          const auto expected = train_in_threads(*portable_kernel(), sizes, rows, recipe, head);
          for (const Kernel* kernel : variants)
            if (!agree(train_in_threads(*kernel, sizes, rows, recipe, head), expected))
              return std::fprintf(stderr, "%s: not what the portable kernel finds\n", kernel->name), 1;
        }
  std::puts("networks: nothing found");
  return 0;
}
