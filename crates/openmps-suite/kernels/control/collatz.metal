// what: a while loop of unpredictable length
// threads: 200
// out: np.zeros(200, np.int32)
// let: steps = (lambda s: lambda x: s(s, x))(lambda s, x: 0 if x == 1 else 1 + s(s, x // 2 if x % 2 == 0 else 3 * x + 1))
// expect: [steps(t + 1) for t in range(200)]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  uint x = i + 1;
  int steps = 0;
  while (x != 1) {
    x = x % 2 == 0 ? x / 2 : 3 * x + 1;
    steps++;
  }
  out[i] = steps;
}
