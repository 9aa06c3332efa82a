// what: a swap of components in place
// threads: 8
// out: np.arange(16, dtype=np.float32)
// expect: np.arange(16).reshape(8, 2)[:, ::-1].ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(device float2* out, uint i [[thread_position_in_grid]]) {
  out[i].xy = out[i].yx;
}
