// what: a sorting network with a barrier for each stage
// threads: 256
// group: 256
// out: np.zeros(256, np.float32)
// in: rng.standard_normal(256).astype(np.float32)
// expect: np.sort(a)
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a, uint i [[thread_position_in_grid]]) {
  threadgroup float values[256];
  values[i] = a[i];
  for (uint size = 2; size <= 256; size *= 2) {
    for (uint stride = size / 2; stride > 0; stride /= 2) {
      threadgroup_barrier(mem_flags::mem_threadgroup);
      uint other = i ^ stride;
      if (other > i) {
        bool ascending = (i & size) == 0;
        float x = values[i], y = values[other];
        if ((x > y) == ascending) {
          values[i] = y;
          values[other] = x;
        }
      }
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = values[i];
}
