// answer: 9011209
#include <algorithm>
#include <cstdio>
#include <vector>

int main() {
    const int n = 320;
    std::vector<double> a(n * n), b(n * n), c(n * n);
    for (int i = 0; i < n * n; i++) { a[i] = i % 17; b[i] = i % 23; }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++) c[i * n + k] += a[i * n + j] * b[j * n + k];
    double trace = 0;
    for (int i = 0; i < n; i++) trace += c[i * n + i];
    printf("%.0f\n", trace);
}
