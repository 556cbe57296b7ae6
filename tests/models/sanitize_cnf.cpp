// Drives the features of formulas under the sanitizers: random formulas, and the same with bytes changed, cut out, repeated.
#include <cstdio>
#include <cstring>
#include <random>

#include "../../src/capra/formats/native/probes.hpp"

using namespace capra::cnf;

namespace {

std::string formula(std::mt19937& random) {
  const int variables = 1 + static_cast<int>(random() % 40), clauses = static_cast<int>(random() % 160);
  std::string text = "c a comment\np cnf " + std::to_string(variables) + " " + std::to_string(clauses) + "\n";
  for (int c = 0; c < clauses; ++c) {
    const int length = static_cast<int>(random() % 50 == 0 ? random() % 3 : 1 + random() % 5);
    for (int i = 0; i < length; ++i)
      text += (random() % 2 ? "-" : "") + std::to_string(1 + random() % static_cast<unsigned>(variables)) + (random() % 9 ? " " : "\n");
    text += "0\n";
  }
  return text;
}

void spoil(std::string& text, std::mt19937& random) {
  static const char bytes[] = "0123456789 -\n\r\tcp%\0x\xff";
  for (unsigned change = random() % 4; change > 0 && !text.empty(); --change) {
    const std::size_t at = random() % text.size(), length = random() % 12;
    if (random() % 3 == 0) text.erase(at, length);
    else if (random() % 2 == 0) text.insert(at, text.substr(random() % text.size(), length));
    else text[at] = bytes[random() % (sizeof bytes - 1)];
  }
}

}  // namespace

int main() {
  std::mt19937 random(1);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = formula(random);
    if (round % 10 != 0) spoil(text, random);
    const std::vector<char> exact(text.begin(), text.end());  // no byte behind the end
    try {
      for (const double value : features(exact.data(), exact.size()).values)
        if (!std::isfinite(value)) return 1;
    } catch (const Malformed&) {
      ++refused;
    }
  }
  std::printf("cnf: ok, %d of 3000 refused\n", refused);
  return refused > 300 && refused < 2700 ? 0 : 1;
}
