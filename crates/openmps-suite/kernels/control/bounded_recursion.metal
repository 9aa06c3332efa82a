// what: a function that calls itself a few levels deep
// threads: 4
// out: np.zeros(4, np.int32)
// expect: [1, 1, 2, 6]
#include <metal_stdlib>
using namespace metal;

int factorial(int n) {
  return n <= 1 ? 1 : n * factorial(n - 1);
}

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  out[i] = factorial(i);
}
