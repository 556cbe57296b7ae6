// answer: 3737
#include <algorithm>
#include <cstdio>
#include <vector>

int main() {
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
    printf("%d\n", row[n]);
}
