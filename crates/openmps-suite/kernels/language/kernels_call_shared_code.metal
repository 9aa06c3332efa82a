// what: a helper shared by two kernels of one library
// threads: 4
// out: np.zeros(4, np.int32)
// expect: [0, 3, 6, 9]
#include <metal_stdlib>
using namespace metal;

static inline int scaled(uint i, int by) {
  return int(i) * by;
}

kernel void other(device int* out, uint i [[thread_position_in_grid]]) {
  out[i] = scaled(i, 2);
}

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  out[i] = scaled(i, 3);
}
