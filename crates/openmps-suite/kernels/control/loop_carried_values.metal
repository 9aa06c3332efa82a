// what: three values that change together over a loop
// threads: 20
// out: np.zeros(20, np.int64)
// let: f = [1, 1, 2]
// let: f = [f.append(f[-1] + f[-2] + f[-3]) or f for _ in range(40)][-1]
// expect: f[:20]
#include <metal_stdlib>
using namespace metal;

kernel void test(device long* out, uint i [[thread_position_in_grid]]) {
  long x = 1, y = 1, z = 2;
  for (uint k = 0; k < i; k++) {
    long next = x + y + z;
    x = y;
    y = z;
    z = next;
  }
  out[i] = x;
}
