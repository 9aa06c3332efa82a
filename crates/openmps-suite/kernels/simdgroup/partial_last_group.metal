// what: the last SIMD-group of 45 threads has 13 lanes
// threads: 45
// group: 45
// out: np.zeros(90, np.int32)
// expect: np.stack([np.repeat([32, 13], [32, 13]), np.repeat([31, 44], [32, 13])], 1).ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  out[2 * i] = simd_sum(1);
  out[2 * i + 1] = simd_max(int(i));
}
