#include "loss.hpp"

#include <cmath>

namespace capra::network {
namespace {

constexpr double kLogRootTwoPi = 0.91893853320467274178;
constexpr double kRootHalf = 0.70710678118654752440;
constexpr double kRootTwoOverPi = 0.79788456080286535588;
constexpr double kRootPi = 1.77245385090551602730;

// exp(x²)·erfc(x) for x ≥ 5, by Laplace's continued fraction x + (1/2)/(x + (2/2)/(x + (3/2)/(x + …))).
double scaled_erfc(double x) {
  double fraction = x;
  for (int k = 40; k >= 1; --k) fraction = x + 0.5 * k / fraction;
  return 1.0 / (kRootPi * fraction);
}

// log(1 − Φ(z)) and the hazard φ(z)/(1 − Φ(z)). No difference of near-equal numbers anywhere: exact far into both tails.
Term normal_survival(double z) {
  const double x = z * kRootHalf;
  if (x >= 5.0) {
    const double e = scaled_erfc(x);
    return {x * x - std::log(0.5 * e), kRootTwoOverPi / e};
  }
  const double hazard = kRootTwoOverPi * std::exp(-x * x) / std::erfc(x);
  const double loss = x < 0.0 ? -std::log1p(-0.5 * std::erfc(-x)) : -std::log(0.5 * std::erfc(x));
  return {loss, hazard};
}

// e^z, and a straight line beyond e^30: a far outlier shall not overflow single precision.
Term bounded_exp(double z) {
  constexpr double kBound = 30.0;
  const double e = std::exp(z < kBound ? z : kBound);
  return {z < kBound ? e : e * (1.0 + z - kBound), e};
}

// log(1 + e^x) and its slope, the logistic function.
Term softplus(double x) {
  const double e = std::exp(-std::fabs(x));
  return {(x > 0.0 ? x : 0.0) + std::log1p(e), (x > 0.0 ? 1.0 : e) / (1.0 + e)};
}

}  // namespace

Term term(Head head, double z, bool censored) {
  switch (head) {
    case Head::weibull: {  // density exp(z − e^z), survival exp(−e^z)
      const Term e = bounded_exp(z);
      return censored ? e : Term{e.loss - z, e.slope - 1.0};
    }
    case Head::logistic: {  // density e^−z/(1 + e^−z)², survival 1/(1 + e^z)
      const Term s = softplus(z);
      return censored ? s : Term{2.0 * s.loss - z, 2.0 * s.slope - 1.0};
    }
    case Head::normal:
      break;
  }
  return censored ? normal_survival(z) : Term{0.5 * z * z + kLogRootTwoPi, z};
}

double scale_of(double raw) { return softplus(raw).loss + kMinScale; }

// Eggensperger et al. eq. 4, with the 1/σ of the density. With k the slope of a term in z = (y − μ)/σ:
// dL/dμ = −k/σ and dL/dσ = (1 − I − k·z)/σ.
double tile_loss(Head head, const float* outputs, const float* y, const std::uint8_t* censored, std::size_t count,
                 double weight, float* slopes) {
  double total = 0.0;
  for (std::size_t b = 0; b < kTile; ++b) {
    if (b >= count) {
      slopes[b] = slopes[kTile + b] = 0.0f;
      continue;
    }
    const Term raw = softplus(outputs[kTile + b]);
    const double scale = raw.loss + kMinScale;
    const double z = (y[b] - outputs[b]) / scale;
    const Term t = term(head, z, censored[b]);
    const double observed = censored[b] ? 0.0 : 1.0;
    total += weight * (t.loss + observed * std::log(scale));
    slopes[b] = static_cast<float>(-weight * t.slope / scale);
    slopes[kTile + b] = static_cast<float>(weight * (observed - t.slope * z) / scale * raw.slope);
  }
  return total;
}

}  // namespace capra::network
