// what: one buffer read and written by the same thread
// threads: 64
// out: np.arange(64, dtype=np.float32)
// expect: np.arange(64) * 2 + 1
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, uint i [[thread_position_in_grid]]) {
  out[i] = out[i] * 2 + 1;
}
