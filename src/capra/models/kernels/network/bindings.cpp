// The Python face of the network: sizes are checked here, the arithmetic lives in the other network files.
#include "bindings.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "network.hpp"
#include "dispatch.hpp"

namespace nb = nanobind;
using namespace capra::network;

namespace {

template <typename T, int N>
using In = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <typename T, int N>
using Out = nb::ndarray<nb::numpy, T, nb::ndim<N>>;
using Sizes = std::vector<std::size_t>;

template <typename T, int N>
Out<T, N> array(std::unique_ptr<T[]> values, std::initializer_list<std::size_t> shape) {
  T* data = values.release();
  return Out<T, N>(data, shape, nb::capsule(data, [](void* p) noexcept { delete[] static_cast<T*>(p); }));
}

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

const Kernel& chosen(const std::string& simd) {
  const Kernel* found = kernel(simd);
  if (found == nullptr) throw std::invalid_argument("no kernel '" + simd + "' on this machine");
  return *found;
}

std::size_t weight_count(const Sizes& sizes) {
  require(sizes.size() >= 2 && sizes.back() == 2 && std::count(sizes.begin(), sizes.end(), 0u) == 0,
          "sizes: inputs, hidden layers, 2");
  std::size_t count = 0;
  for (std::size_t l = 0; l + 1 < sizes.size(); ++l) count += (sizes[l] + 1) * sizes[l + 1];
  return count;
}

Data rows_of(const In<float, 2>& x, const Sizes& sizes, const Plan& plan) {
  require(x.shape(1) == sizes[0], "x must have one column per input");
  require(x.shape(0) < (std::size_t{1} << 32), "too many rows");
  const std::size_t stride = plan.layers[0].stride;
  return {padded_rows(x.data(), x.shape(0), x.shape(1), stride), stride, nullptr, nullptr, x.shape(0)};
}

Data data_of(const In<float, 2>& x, const In<float, 1>& y, const In<std::uint8_t, 1>& censored, const Sizes& sizes,
             const Plan& plan) {
  require(x.shape(0) > 0 && y.shape(0) == x.shape(0) && censored.shape(0) == x.shape(0), "x, y and censored must agree");
  Data data = rows_of(x, sizes, plan);
  data.y = y.data();
  data.censored = censored.data();
  return data;
}

// One network per index, on up to `threads` threads; which thread takes which does not change any result. Where no more
// threads are to be had, fewer do the work; the first exception of any of them is thrown here.
template <typename Work>
void for_each_network(std::size_t count, std::size_t threads, const Work& work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto loop = [&] {
    try {
      for (std::size_t i; (i = next.fetch_add(1)) < count;) work(i);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  others.reserve(std::min(threads, count));
  try {
    for (std::size_t t = 1; t < std::min(threads, count); ++t) others.emplace_back(loop);
  } catch (const std::system_error&) {
  }
  loop();
  for (std::thread& thread : others) thread.join();
  if (failure) std::rethrow_exception(failure);
}

std::vector<Aligned> padded(const Plan& plan, const float* dense) {
  std::vector<Aligned> out((plan.weights + 15) / 16, Aligned{});
  spread(plan, dense, out.data()->lane);
  return out;
}

Out<float, 2> train_all(const Sizes& sizes, In<float, 2> weights, In<float, 2> x, In<float, 1> y, In<std::uint8_t, 1> censored,
                        In<std::uint64_t, 1> seeds, Head head, const Recipe& recipe, std::size_t threads,
                        const std::string& simd) {
  const std::size_t count = weights.shape(0), size = weight_count(sizes);
  require(weights.shape(1) == size && seeds.shape(0) == count, "weights and seeds: one row and one seed per network");
  require(recipe.batch > 0, "batch must be positive");
  const Kernel& kernel = chosen(simd);
  const Plan plan = capra::network::plan(sizes, kernel.lanes);
  const Data data = data_of(x, y, censored, sizes, plan);
  auto out = std::make_unique<float[]>(count * size);
  {
    nb::gil_scoped_release release;
    for_each_network(count, threads, [&](std::size_t i) {
      std::vector<Aligned> w = padded(plan, weights.data() + i * size);
      train(kernel, plan, data, head, recipe, seeds.data()[i], w.data()->lane);
      gather(plan, w.data()->lane, out.get() + i * size);
    });
  }
  return array<float, 2>(std::move(out), {count, size});
}

Out<float, 3> predict_all(const Sizes& sizes, In<float, 2> weights, In<float, 2> x, std::size_t threads,
                          const std::string& simd) {
  const std::size_t count = weights.shape(0), size = weight_count(sizes);
  require(weights.shape(1) == size, "weights: one row per network");
  const Kernel& kernel = chosen(simd);
  const Plan plan = capra::network::plan(sizes, kernel.lanes);
  const Data data = rows_of(x, sizes, plan);
  auto out = std::make_unique<float[]>(count * data.rows * 2);
  {
    nb::gil_scoped_release release;
    for_each_network(count, threads, [&](std::size_t i) {
      const std::vector<Aligned> w = padded(plan, weights.data() + i * size);
      predict(kernel, plan, data, w.data()->lane, out.get() + i * data.rows * 2);
    });
  }
  return array<float, 3>(std::move(out), {count, data.rows, 2});
}

std::pair<double, Out<float, 1>> gradient_of(const Sizes& sizes, In<float, 1> weights, In<float, 2> x, In<float, 1> y,
                                             In<std::uint8_t, 1> censored, Head head, const std::string& simd) {
  const std::size_t size = weight_count(sizes);
  require(weights.shape(0) == size, "weights: as many as the sizes ask for");
  const Kernel& kernel = chosen(simd);
  const Plan plan = capra::network::plan(sizes, kernel.lanes);
  const Data data = data_of(x, y, censored, sizes, plan);
  const std::vector<Aligned> w = padded(plan, weights.data());
  std::vector<Aligned> gradient(w.size(), Aligned{});
  std::vector<std::uint32_t> index(data.rows);
  for (std::size_t i = 0; i < data.rows; ++i) index[i] = static_cast<std::uint32_t>(i);
  Workspace workspace(plan);
  const double loss = loss_and_gradient(kernel, plan, data, head, index.data(), data.rows, w.data()->lane, workspace,
                                        gradient.data()->lane);
  auto out = std::make_unique<float[]>(size);
  gather(plan, gradient.data()->lane, out.get());
  return {loss, array<float, 1>(std::move(out), {size})};
}

std::pair<Out<double, 1>, Out<double, 1>> terms(Head head, In<double, 1> z, bool censored) {
  const std::size_t n = z.shape(0);
  auto loss = std::make_unique<double[]>(n), slope = std::make_unique<double[]>(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Term t = term(head, z.data()[i], censored);
    loss[i] = t.loss;
    slope[i] = t.slope;
  }
  return {array<double, 1>(std::move(loss), {n}), array<double, 1>(std::move(slope), {n})};
}

}  // namespace

void capra::bind_network(nb::module_& m) {
  nb::enum_<Head>(m, "Head").value("normal", Head::normal).value("weibull", Head::weibull).value("logistic", Head::logistic);
  nb::enum_<Optimizer>(m, "Optimizer")
      .value("sgd", Optimizer::sgd)
      .value("adam", Optimizer::adam)
      .value("lbfgs", Optimizer::lbfgs);

  m.def(
      "network_kernels",
      [] {
        std::vector<std::string> names;
        for (const Kernel* kernel : kernels()) names.emplace_back(kernel->name);
        return names;
      },
      "Names of the variants that can run here, the fastest first.");
  m.def("network_terms", &terms, nb::arg("head"), nb::arg("z"), nb::arg("censored"),
        "Minus the log density (or log survival function) at z, and its slope, in float64.");
  m.def("network_gradient", &gradient_of, nb::arg("sizes"), nb::arg("weights"), nb::arg("x"), nb::arg("y"),
        nb::arg("censored"), nb::arg("head"), nb::arg("simd") = "", "Mean loss of one network and its gradient.");
  m.def(
      "network_train",
      [](const Sizes& sizes, In<float, 2> weights, In<float, 2> x, In<float, 1> y, In<std::uint8_t, 1> censored,
         In<std::uint64_t, 1> seeds, Head head, Optimizer optimizer, std::size_t epochs, std::size_t batch, float rate,
         float decay, float clip, std::size_t threads, const std::string& simd) {
        const Recipe recipe{optimizer, epochs, batch, rate, decay, clip};
        return train_all(sizes, weights, x, y, censored, seeds, head, recipe, threads, simd);
      },
      nb::arg("sizes"), nb::arg("weights"), nb::arg("x"), nb::arg("y"), nb::arg("censored"), nb::arg("seeds"), nb::arg("head"),
      nb::arg("optimizer"), nb::arg("epochs"), nb::arg("batch"), nb::arg("rate"), nb::arg("decay"), nb::arg("clip"),
      nb::arg("threads") = 1, nb::arg("simd") = "", "Weights of the networks, (networks, weights), after training.");
  m.def("network_predict", &predict_all, nb::arg("sizes"), nb::arg("weights"), nb::arg("x"), nb::arg("threads") = 1,
        nb::arg("simd") = "", "Location and scale of every network at every row, (networks, rows, 2).");
}
