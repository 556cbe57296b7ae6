// The arithmetic of the network, written for vectors of CAPRA_LANES floats. A vector holds the same unit of several rows, so
// that forward and backward passes broadcast weights and need no padding of units; only gradients of weights run along units.
#include "kernel.hpp"

namespace capra::network {
namespace {

constexpr std::size_t kLanes = CAPRA_LANES;
constexpr std::size_t kVectors = kTile / kLanes;
// Units (weights' rows) that share a load: as many sums as the registers hold and the latency of a multiply-add needs.
constexpr std::size_t kUnits = kLanes == 4 ? 2 : kLanes == 8 ? 5 : 10;

typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));
typedef std::int32_t Integers __attribute__((vector_size(kLanes * sizeof(std::int32_t))));

inline Vector load(const float* p) { return *reinterpret_cast<const Vector*>(p); }
inline void store(float* p, Vector v) { *reinterpret_cast<Vector*>(p) = v; }
inline Vector spread(float value) { return Vector{} + value; }
inline Vector within(Vector x, float bound) {
  const Vector limit = spread(bound);
  x = x < limit ? x : limit;
  return x > -limit ? x : -limit;
}

// tanh(x) = e / (e + 2) with e = expm1(2x) = 2^k·(expm1(r) + 1) − 1, r = 2x − k·ln 2 in ±ln(2)/2. With k = 0 nothing cancels,
// so small arguments keep their relative precision; the Taylor polynomial's error is 1.5e-8 relative.
inline Vector tanh(Vector x) {
  const Vector twice = 2.0f * within(x, 9.2f);  // beyond, tanh is ±1 in single precision
  const Vector shift = spread(12582912.0f);  // 1.5·2^23: adding it rounds to an integer
  const Vector rounded = twice * 1.44269504f + shift;
  const Vector k = rounded - shift;
  const Vector r = (twice - k * 0.693145752f) - k * 1.42860677e-6f;
  Vector p = r * (1.0f / 5040.0f) + (1.0f / 720.0f);
  p = p * r + (1.0f / 120.0f);
  p = p * r + (1.0f / 24.0f);
  p = p * r + (1.0f / 6.0f);
  p = p * r + 0.5f;
  p = (p * r) * r + r;
  const Integers power = (reinterpret_cast<Integers>(rounded) << 23) + 0x3f800000;
  const Vector scale = reinterpret_cast<Vector>(power);
  const Vector e = p * scale + (scale - 1.0f);
  return e / (e + 2.0f);
}

// --- forward: units_out[j] = f(bias_j + Σ_i w_ji units_in[i]) ---

template <std::size_t N>
inline void forward_units(const Layer& layer, const float* w, const float* in, float* out, bool squash) {
  Vector sum[N][kVectors];
  for (std::size_t n = 0; n < N; ++n)
    for (std::size_t v = 0; v < kVectors; ++v) sum[n][v] = spread(w[n * layer.stride + layer.in]);
  for (std::size_t i = 0; i < layer.in; ++i) {
    for (std::size_t n = 0; n < N; ++n)
      for (std::size_t v = 0; v < kVectors; ++v)
        sum[n][v] += w[n * layer.stride + i] * load(in + i * kTile + v * kLanes);
  }
  for (std::size_t n = 0; n < N; ++n)
    for (std::size_t v = 0; v < kVectors; ++v)
      store(out + n * kTile + v * kLanes, squash ? tanh(sum[n][v]) : sum[n][v]);
}

inline void forward_layer(const Layer& layer, const float* w, const float* in, float* out, bool squash) {
  std::size_t j = 0;
  for (; j + kUnits <= layer.out; j += kUnits)
    forward_units<kUnits>(layer, w + j * layer.stride, in, out + j * kTile, squash);
  for (; j + 2 <= layer.out; j += 2) forward_units<2>(layer, w + j * layer.stride, in, out + j * kTile, squash);
  for (; j < layer.out; ++j) forward_units<1>(layer, w + j * layer.stride, in, out + j * kTile, squash);
}

// (in, kTile) from (kTile, stride), or the other way round.
inline void units_of(const float* rows, std::size_t in, std::size_t stride, float* units) {
  for (std::size_t b = 0; b < kTile; ++b)
    for (std::size_t i = 0; i < in; ++i) units[i * kTile + b] = rows[b * stride + i];
}

inline void rows_of(const float* units, std::size_t in, std::size_t stride, float* rows) {
  for (std::size_t i = 0; i < in; ++i)
    for (std::size_t b = 0; b < kTile; ++b) rows[b * stride + i] = units[i * kTile + b];
}

void forward(const View& net, const float* weights, const Buffers& at, bool keep) {
  units_of(at.rows[0], net.layers[0].in, net.layers[0].stride, at.units[0]);
  for (std::size_t l = 0; l < net.depth; ++l) {
    const bool last = l + 1 == net.depth;
    forward_layer(net.layers[l], weights + net.layers[l].offset, at.units[l], last ? at.outputs : at.units[l + 1], !last);
    if (keep && !last) rows_of(at.units[l + 1], net.layers[l].out, net.layers[l + 1].stride, at.rows[l + 1]);
  }
}

// --- backward ---

// slopes_in[i] = (1 − units[i]²) Σ_j w_ji slopes_out[j]
template <std::size_t N>
inline void slopes_of(const Layer& layer, const float* w, const float* slopes, const float* units, float* out) {
  Vector sum[N][kVectors] = {};
  for (std::size_t j = 0; j < layer.out; ++j)
    for (std::size_t n = 0; n < N; ++n)
      for (std::size_t v = 0; v < kVectors; ++v)
        sum[n][v] += w[j * layer.stride + n] * load(slopes + j * kTile + v * kLanes);
  for (std::size_t n = 0; n < N; ++n)
    for (std::size_t v = 0; v < kVectors; ++v) {
      const Vector a = load(units + n * kTile + v * kLanes);
      store(out + n * kTile + v * kLanes, sum[n][v] * (1.0f - a * a));
    }
}

inline void backward_layer(const Layer& layer, const float* w, const float* slopes, const float* units, float* out) {
  std::size_t i = 0;
  for (; i + kUnits <= layer.in; i += kUnits)
    slopes_of<kUnits>(layer, w + i, slopes, units + i * kTile, out + i * kTile);
  for (; i < layer.in; ++i) slopes_of<1>(layer, w + i, slopes, units + i * kTile, out + i * kTile);
}

// gradient[j, i] += Σ_b slopes[j, b] rows[b, i], the bias through the row's constant 1
template <std::size_t N, std::size_t V>
inline void gradient_block(const float* slopes, const float* rows, std::size_t stride, float* gradient) {
  Vector sum[N][V];
  for (std::size_t n = 0; n < N; ++n)
    for (std::size_t v = 0; v < V; ++v) sum[n][v] = load(gradient + n * stride + v * kLanes);
  for (std::size_t b = 0; b < kTile; ++b)
    for (std::size_t n = 0; n < N; ++n)
      for (std::size_t v = 0; v < V; ++v) sum[n][v] += slopes[n * kTile + b] * load(rows + b * stride + v * kLanes);
  for (std::size_t n = 0; n < N; ++n)
    for (std::size_t v = 0; v < V; ++v) store(gradient + n * stride + v * kLanes, sum[n][v]);
}

template <std::size_t N>
inline void gradient_units(const Layer& layer, const float* slopes, const float* rows, float* gradient) {
  constexpr std::size_t kWide = kLanes == 16 ? 2 : kLanes == 8 ? 3 : 4;
  std::size_t i = 0;
  for (; i + kWide * kLanes <= layer.stride; i += kWide * kLanes)
    gradient_block<N, kWide>(slopes, rows + i, layer.stride, gradient + i);
  for (; i < layer.stride; i += kLanes) gradient_block<N, 1>(slopes, rows + i, layer.stride, gradient + i);
}

inline void gradient_layer(const Layer& layer, const float* slopes, const float* rows, float* gradient) {
  constexpr std::size_t kTall = kLanes == 4 ? 2 : 4;
  std::size_t j = 0;
  for (; j + kTall <= layer.out; j += kTall)
    gradient_units<kTall>(layer, slopes + j * kTile, rows, gradient + j * layer.stride);
  for (; j < layer.out; ++j) gradient_units<1>(layer, slopes + j * kTile, rows, gradient + j * layer.stride);
}

void backward(const View& net, const float* weights, const Buffers& at, float* gradient) {
  for (std::size_t l = net.depth; l-- > 0;) {
    const Layer& layer = net.layers[l];
    const float* slopes = at.delta[(net.depth - 1 - l) % 2];
    gradient_layer(layer, slopes, at.rows[l], gradient + layer.offset);
    if (l > 0) backward_layer(layer, weights + layer.offset, slopes, at.units[l], at.delta[(net.depth - l) % 2]);
  }
}

// --- steps; all arrays are padded to whole vectors, and every step leaves the gradient at zero for the next batch ---

void sgd(std::size_t n, float* weights, float* gradient, float* velocity, float rate, float decay, float clip) {
  for (std::size_t i = 0; i < n; i += kLanes) {
    const Vector w = load(weights + i);
    const Vector v = 0.9f * load(velocity + i) + (within(load(gradient + i), clip) + decay * w);
    store(velocity + i, v);
    store(weights + i, w - rate * v);
    store(gradient + i, Vector{});
  }
}

inline Vector root(Vector x) {
  for (std::size_t i = 0; i < kLanes; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
}

// Kingma & Ba 2015, Alg. 1, with decoupled weight decay.
void adam(std::size_t n, float* weights, float* gradient, float* first, float* second, float rate, float decay, float clip,
          float first_bias, float second_bias) {
  for (std::size_t i = 0; i < n; i += kLanes) {
    const Vector g = within(load(gradient + i), clip);
    const Vector m = 0.9f * load(first + i) + 0.1f * g;
    const Vector v = 0.999f * load(second + i) + 0.001f * (g * g);
    const Vector w = load(weights + i);
    const Vector step = (m / first_bias) / (root(v / second_bias) + 1e-8f);
    store(first + i, m);
    store(second + i, v);
    store(weights + i, w - rate * (step + decay * w));
    store(gradient + i, Vector{});
  }
}

double dot(std::size_t n, const float* a, const float* b) {
  constexpr std::size_t kShort = 256;  // short sums in single precision, their total in double
  double total = 0.0;
  for (std::size_t i = 0; i < n;) {
    Vector sum{};
    for (const std::size_t end = i + kShort < n ? i + kShort : n; i < end; i += kLanes) sum += load(a + i) * load(b + i);
    for (std::size_t lane = 0; lane < kLanes; ++lane) total += sum[lane];
  }
  return total;
}

void add(std::size_t n, float factor, const float* a, float* to) {
  for (std::size_t i = 0; i < n; i += kLanes) store(to + i, load(to + i) + factor * load(a + i));
}

constexpr Kernel make(const char* name) { return {name, kLanes, forward, backward, sgd, adam, dot, add}; }

}  // namespace
}  // namespace capra::network
