// what: a function used before its definition
// threads: 6
// out: np.zeros(6, np.int32)
// expect: [2 * t + 1 for t in range(6)]
#include <metal_stdlib>
using namespace metal;

int odd(int x);
int even(int x) {
  return 2 * x;
}

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  out[i] = odd(i);
}

int odd(int x) {
  return even(x) + 1;
}
