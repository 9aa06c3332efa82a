// what: a chain of indices followed by each thread
// threads: 16
// out: np.zeros(16, np.int32)
// in: (np.arange(64) * 37 % 64).astype(np.int32)
// let: walk = lambda t: [t := a[t] for _ in range(20)][-1]
// expect: [walk(t) for t in range(16)]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  int at = i;
  for (int k = 0; k < 20; k++) at = a[at];
  out[i] = at;
}
