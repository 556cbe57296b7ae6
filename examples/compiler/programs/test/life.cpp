// answer: 3510
#include <algorithm>
#include <cstdio>
#include <vector>

int main() {
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
    printf("%d\n", alive);
}
