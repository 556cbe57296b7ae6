// answer: 412849
#include <algorithm>
#include <cstdio>
#include <vector>

int main() {
    const int n = 6000000;
    std::vector<unsigned char> composite(n);
    int primes = 0;
    for (int i = 2; i < n; i++) {
        if (composite[i]) continue;
        primes++;
        for (long j = (long)i * i; j < n; j += i) composite[j] = 1;
    }
    printf("%d\n", primes);
}
