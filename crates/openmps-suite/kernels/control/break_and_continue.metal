// what: break and continue under conditions that differ between threads
// threads: 64
// out: np.zeros(64, np.int32)
// let: row = lambda t: next((s for k in range(1, 200) for s in [sum(j for j in range(k) if j % (t % 5 + 2))] if s > 10 * t), -1)
// expect: [row(t) for t in range(64)]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  int sum = 0;
  for (int k = 0; k < 200; k++) {
    if (sum > 10 * int(i)) break;
    if (k % int(i % 5 + 2) == 0) continue;
    sum += k;
  }
  out[i] = sum;
}
