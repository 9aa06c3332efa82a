// what: a search that ends for one of three reasons
// threads: 32
// out: np.zeros(32, np.int32)
// in: rng.integers(0, 100, (32, 20)).astype(np.int32)
// let: reason = lambda r: next((1 if x > 95 else 2 for x, s in zip(r, np.cumsum(r)) if x > 95 or s > 600), 3)
// expect: [reason(r) for r in a]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  int sum = 0, k = 0;
  while (true) {
    if (k == 20) {
      out[i] = 3;
      break;
    }
    int x = a[20 * i + k++];
    sum += x;
    if (x > 95) {
      out[i] = 1;
      break;
    }
    if (sum > 600) {
      out[i] = 2;
      break;
    }
  }
}
