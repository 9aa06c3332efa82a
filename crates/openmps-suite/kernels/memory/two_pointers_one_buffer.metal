// what: input and output that alias, element by element
// threads: 32
// out: np.arange(64, dtype=np.int32)
// expect: [*(np.arange(32) + np.arange(32, 64)), *range(32, 64)]
#include <metal_stdlib>
using namespace metal;

void add(device int* to, device const int* x, device const int* y, uint i) {
  to[i] = x[i] + y[i];
}

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  add(out, out, out + 32, i);
}
