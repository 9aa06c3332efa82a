// what: ?: with class operands in different address spaces
// threads: 2
// out: np.zeros((2, 4), np.float32)
// in: np.array([[1, 2, 3, 4], [5, 6, 7, 8]], np.float32)
// expect: [[1, 2, 3, 4], [0, 0, 0, 0]]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float4* out, device const float4* in, uint i [[thread_position_in_grid]]) {
  bool ok = i == 0;
  out[i] = ok ? in[i] : float4(0);
}
