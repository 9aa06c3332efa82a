// what: a template over a number unrolls at compile time
// threads: 8
// out: np.zeros(8, np.int32)
// expect: [t ** 5 for t in range(8)]
#include <metal_stdlib>
using namespace metal;

template <int N>
int power(int x) {
  return x * power<N - 1>(x);
}
template <>
int power<0>(int) {
  return 1;
}

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  out[i] = power<5>(i);
}
