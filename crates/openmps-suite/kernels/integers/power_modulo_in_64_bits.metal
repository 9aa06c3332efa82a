// what: modular exponentiation with 64-bit products
// threads: 64
// out: np.zeros(64, np.int64)
// in: rng.integers(2, 2**31, 64)
// in: rng.integers(0, 2**20, 64)
// expect: np.array([pow(x, y, 2147483647) for x, y in zip(a.tolist(), b.tolist())])
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device long* out,
    device const long* a,
    device const long* b,
    uint i [[thread_position_in_grid]]) {
  const long prime = 2147483647;
  long base = a[i] % prime, result = 1;
  for (long e = b[i]; e > 0; e >>= 1) {
    if (e & 1) result = result * base % prime;
    base = base * base % prime;
  }
  out[i] = result;
}
