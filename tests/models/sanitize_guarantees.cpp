// Drives the cores of the strategies with guarantees under the sanitizers: random times, looks ahead, configurations that are
// taken out at any moment.
#include <cmath>
#include <cstdio>
#include <random>

#include "../../src/capra/strategies/native/impatient.hpp"
#include "../../src/capra/strategies/native/confidence.hpp"
#include "../../src/capra/strategies/native/leaps.hpp"
#include "../../src/capra/strategies/native/procrastination.hpp"
#include "../../src/capra/strategies/native/utilitarian.hpp"

using namespace capra;

namespace {

constexpr std::size_t kConfigs = 12, kColumns = 400;

std::vector<double> times(unsigned seed) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> draw(0.0, 1.5);
  std::vector<double> found(kConfigs * kColumns);
  for (double& time : found) time = std::max(0.001, draw(random));
  return found;
}

std::vector<double> worth() {
  std::vector<double> found;
  for (int level = 0; level < 64; ++level) found.push_back(std::exp(-std::ldexp(1.0, level) / 4.0));
  return found;
}

template <class Core>
void drive(Core core, unsigned seed) {
  const std::vector<double> matrix = times(seed);
  std::vector<std::int64_t> place(3 * kColumns);
  for (std::size_t j = 0; j < place.size(); ++j) place[j] = static_cast<std::int64_t>(j * 7 % kColumns);
  Ledger ledger(matrix.data(), matrix.data(), kColumns, place, kConfigs);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 40; ++round) {
    simulate(core, ledger, 0.0, kInfinity, 500);
    (void)core.ahead(1 + random() % 60);
    (void)core.answer();
    if (round > 20 && core.wanted()) core.exclude(static_cast<std::size_t>(core.wanted()->config));
    else if (round % 8 == 5) core.exclude(random() % (2 * kConfigs));
  }
}

}  // namespace

int main() {
  for (unsigned seed = 0; seed < 3; ++seed) {
    drive(Procrastination(kConfigs, 0.7, 0.1, 0.25, 1e4, 2.0), seed);
    drive(Confidence(kConfigs, 0.25, 2.0), seed);
    drive(LeapsAndBounds(kConfigs, 0.3, 0.4, 0.1, 0.5, 1.25), seed);
    drive(Up(kConfigs, 0.1, 1.0, worth(), 0.0), seed);
    drive(Oup(kConfigs, 0.1, 1.0, worth(), 0.0), seed);
    drive(Coup(kConfigs, 0.1, 1.0, worth(), 5.0, 30, 1, 2), seed);
    const CapsSettings settings{kConfigs, 0.3, 0.4, 0.02, 0.5, 26.0, 2.0, 1.5};
    drive(CapsAndRuns(settings), seed);
    drive(Impatient({3, 7, kConfigs}, settings), seed);
  }
  std::puts("guarantees: ok");
}
