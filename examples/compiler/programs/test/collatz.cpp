// answer: 230631
#include <algorithm>
#include <cstdio>
#include <vector>

int main() {
    int longest = 0, best = 0;
    for (int start = 1; start < 400000; start++) {
        long x = start;
        int steps = 0;
        for (; x != 1; steps++) x = x & 1 ? 3 * x + 1 : x / 2;
        if (steps > longest) { longest = steps; best = start; }
    }
    printf("%d\n", best);
}
