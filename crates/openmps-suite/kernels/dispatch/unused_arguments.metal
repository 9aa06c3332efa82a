// what: a kernel that ignores some of its buffers
// threads: 4
// out: np.zeros(4, np.int32)
// in: np.zeros(1, np.float32)
// in: np.arange(4, dtype=np.int32)
// expect: np.arange(4)
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    device const float* unused,
    device const int* b,
    uint i [[thread_position_in_grid]]) {
  out[i] = b[i];
}
