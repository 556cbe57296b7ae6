"""Writes the programs: small computations in C++, each with its right answer in the first line.

python3 generate.py FOLDER. The answer is what the program says when it is compiled without optimisation.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

# A sum of many small numbers and a large one, with the rounding errors carried along: -ffast-math removes the carrying.
KAHAN = """
float sum = 1e6f, carry = 0.0f;
for (int i = 0; i < 16000000; i++) {
    float term = 1e-3f * (i % 7) - carry, next = sum + term;
    carry = (next - sum) - term;
    sum = next;
}
printf("%.1f\\n", sum);
"""
MATRIX = """
const int n = 320;
std::vector<double> a(n * n), b(n * n), c(n * n);
for (int i = 0; i < n * n; i++) { a[i] = i % 17; b[i] = i % 23; }
for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
        for (int k = 0; k < n; k++) c[i * n + k] += a[i * n + j] * b[j * n + k];
double trace = 0;
for (int i = 0; i < n; i++) trace += c[i * n + i];
printf("%.0f\\n", trace);
"""
SIEVE = """
const int n = 6000000;
std::vector<unsigned char> composite(n);
int primes = 0;
for (int i = 2; i < n; i++) {
    if (composite[i]) continue;
    primes++;
    for (long j = (long)i * i; j < n; j += i) composite[j] = 1;
}
printf("%d\\n", primes);
"""
COLLATZ = """
int longest = 0, best = 0;
for (int start = 1; start < 400000; start++) {
    long x = start;
    int steps = 0;
    for (; x != 1; steps++) x = x & 1 ? 3 * x + 1 : x / 2;
    if (steps > longest) { longest = steps; best = start; }
}
printf("%d\\n", best);
"""
LIFE = """
const int n = 256;
std::vector<unsigned char> now(n * n), next(n * n);
for (int i = 0; i < n * n; i++) now[i] = (i * 2654435761u >> 28) < 5;
for (int turn = 0; turn < 150; turn++) {
    for (int y = 1; y < n - 1; y++)
        for (int x = 1; x < n - 1; x++) {
            int around = -now[y * n + x];
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++) around += now[(y + dy) * n + x + dx];
            next[y * n + x] = around == 3 || (around == 2 && now[y * n + x]);
        }
    now.swap(next);
}
int alive = 0;
for (int i = 0; i < n * n; i++) alive += now[i];
printf("%d\\n", alive);
"""
DISTANCE = """
const int n = 4000;
std::vector<int> row(n + 1), s(n), t(n);
for (int i = 0; i < n; i++) { s[i] = i * 7919 % 26; t[i] = i * 104729 % 31; row[i] = i; }
row[n] = n;
for (int i = 1; i <= n; i++) {
    int corner = row[0];
    row[0] = i;
    for (int j = 1; j <= n; j++) {
        int above = row[j];
        row[j] = std::min(std::min(above, row[j - 1]) + 1, corner + (s[i - 1] != t[j - 1]));
        corner = above;
    }
}
printf("%d\\n", row[n]);
"""
PROGRAMS = {
    "train": {"kahan": KAHAN, "matrix": MATRIX, "sieve": SIEVE, "distance": DISTANCE},
    "test": {"collatz": COLLATZ, "life": LIFE},
}


def program(body: str) -> str:
    lines = [
        "#include <algorithm>",
        "#include <cstdio>",
        "#include <vector>",
        "",
        "int main() {",
        *body.strip().splitlines(),
        "}",
    ]
    return "\n".join(lines) + "\n"


def answer(source: str) -> str:
    with TemporaryDirectory() as folder:
        Path(folder, "program.cpp").write_text(source)
        subprocess.run(["g++", "-O0", "program.cpp", "-o", "program"], cwd=folder, check=True)  # noqa: S607
        return subprocess.run([f"{folder}/program"], check=True, capture_output=True, text=True).stdout.strip()


def main(folder: str) -> None:
    for role, programs in PROGRAMS.items():
        Path(folder, role).mkdir(parents=True, exist_ok=True)
        for name, body in programs.items():
            source = program(body)
            Path(folder, role, f"{name}.cpp").write_text(f"// answer: {answer(source)}\n{source}")


if __name__ == "__main__":
    main(*sys.argv[1:])
