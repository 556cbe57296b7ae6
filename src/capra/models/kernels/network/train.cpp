#include <algorithm>
#include <cmath>
#include <numeric>

#include "network.hpp"
#include "lbfgs.hpp"

namespace capra::network {
namespace {

// splitmix64 as a generator: the shuffles must be the same with every standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t x = (state_ += 0x9e3779b97f4a7c15ULL);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  }
  void shuffle(std::vector<std::uint32_t>& index) {
    for (std::size_t i = index.size(); i > 1; --i) std::swap(index[i - 1], index[((next() >> 32) * i) >> 32]);
  }

 private:
  std::uint64_t state_;
};

// One cycle (Smith 2018): from a 25th of the peak up to it in the first 30 % of the steps, then down along a cosine.
float one_cycle(float peak, std::size_t step, std::size_t steps) {
  constexpr double kRise = 0.3, kPi = 3.14159265358979323846;
  const double t = (static_cast<double>(step) + 0.5) / static_cast<double>(steps);
  const double share = t < kRise ? 0.04 + 0.96 * t / kRise : 0.5 * (1.0 + std::cos(kPi * (t - kRise) / (1.0 - kRise)));
  return static_cast<float>(peak * share);
}

struct Steps {
  const Kernel& kernel;
  const Recipe& recipe;
  std::vector<Aligned> first, second;  // momentum, and Adam's second moment
  std::size_t done = 0;

  Steps(const Kernel& k, const Recipe& r, std::size_t n) : kernel(k), recipe(r), first((n + 15) / 16), second((n + 15) / 16) {}

  void step(std::size_t n, float* weights, float* gradient, float rate) {
    ++done;
    if (recipe.optimizer == Optimizer::sgd)
      return kernel.sgd(n, weights, gradient, first.data()->lane, rate, recipe.decay, recipe.clip);
    const double count = static_cast<double>(done);
    kernel.adam(n, weights, gradient, first.data()->lane, second.data()->lane, rate, recipe.decay, recipe.clip,
                static_cast<float>(1.0 - std::pow(0.9, count)), static_cast<float>(1.0 - std::pow(0.999, count)));
  }
};

void train_in_batches(const Kernel& kernel, const Plan& plan, const Data& data, Head head, const Recipe& recipe,
                      std::uint64_t seed, float* weights) {
  Workspace workspace(plan);
  Random random(seed);
  Steps steps(kernel, recipe, plan.weights);
  std::vector<Aligned> gradient((plan.weights + 15) / 16);
  std::vector<std::uint32_t> index(data.rows);
  std::iota(index.begin(), index.end(), 0u);
  const std::size_t total = recipe.epochs * ((data.rows + recipe.batch - 1) / recipe.batch);
  while (steps.done < total) {
    random.shuffle(index);
    for (std::size_t start = 0; start < data.rows; start += recipe.batch) {
      const std::size_t size = std::min(recipe.batch, data.rows - start);
      loss_and_gradient(kernel, plan, data, head, index.data() + start, size, weights, workspace, gradient.data()->lane);
      steps.step(plan.weights, weights, gradient.data()->lane, one_cycle(recipe.rate, steps.done, total));
    }
  }
}

// The whole data at once, with the weight decay as a term of the loss.
void train_lbfgs(const Kernel& kernel, const Plan& plan, const Data& data, Head head, const Recipe& recipe, float* weights) {
  Workspace workspace(plan);
  std::vector<std::uint32_t> index(data.rows);
  std::iota(index.begin(), index.end(), 0u);
  const auto loss = [&](const float* at, float* gradient) {
    std::fill_n(gradient, plan.weights, 0.0f);
    const double fit = loss_and_gradient(kernel, plan, data, head, index.data(), data.rows, at, workspace, gradient);
    kernel.add(plan.weights, recipe.decay, at, gradient);
    return fit + 0.5 * recipe.decay * kernel.dot(plan.weights, at, at);
  };
  Lbfgs(kernel, plan.weights).minimise(loss, recipe.epochs, weights);
}

}  // namespace

void train(const Kernel& kernel, const Plan& plan, const Data& data, Head head, const Recipe& recipe, std::uint64_t seed,
           float* weights) {
  if (recipe.optimizer == Optimizer::lbfgs)
    train_lbfgs(kernel, plan, data, head, recipe, weights);
  else
    train_in_batches(kernel, plan, data, head, recipe, seed, weights);
}

}  // namespace capra::network
