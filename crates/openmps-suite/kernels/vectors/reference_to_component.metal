// what: a reference and a pointer to one component
// threads: 8
// out: np.zeros((8, 3), np.float32)
// expect: np.stack([np.arange(8) + 1, np.full(8, 5), np.zeros(8)], 1)
#include <metal_stdlib>
using namespace metal;

kernel void test(device packed_float3* out, uint i [[thread_position_in_grid]]) {
  float3 v = 0;
  thread float& x = v.x;
  thread float* y = &v.y;
  x += i + 1;
  *y = 5;
  out[i] = v;
}
