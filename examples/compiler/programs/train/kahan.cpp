// answer: 1048000.0
#include <algorithm>
#include <cstdio>
#include <vector>

// A sum of many small numbers and a large one, with the rounding errors carried along: -ffast-math removes the carrying.
int main() {
    float sum = 1e6f, carry = 0.0f;
    for (int i = 0; i < 16000000; i++) {
        float term = 1e-3f * (i % 7) - carry, next = sum + term;
        carry = (next - sum) - term;
        sum = next;
    }
    printf("%.1f\n", sum);
}
