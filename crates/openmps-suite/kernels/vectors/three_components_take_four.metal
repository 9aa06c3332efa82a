// what: float3 arrays have a stride of 16 bytes
// threads: 4
// out: np.zeros(16, np.float32)
// expect: [0, 1, 2, 0, 10, 11, 12, 0, 20, 21, 22, 0, 30, 31, 32, 0]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float4* out, uint i [[thread_position_in_grid]]) {
  thread float3 values[4];
  for (int k = 0; k < 4; k++) values[k] = float3(10 * k, 10 * k + 1, 10 * k + 2);
  out[i] = float4(values[i], sizeof(values) == 64 ? 0 : -1);
}
