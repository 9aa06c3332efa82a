// what: conversions to char, uchar and ushort stop at the limits
// threads: 5
// out: np.zeros(15, np.int32)
// in: np.array([300.0, -300.0, 1e9, -1e9, np.nan], np.float32)
// expect: [127, 255, 300, -128, 0, 0, 127, 255, 65535, -128, 0, 0, 0, 0, 0]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const float* a, uint i [[thread_position_in_grid]]) {
  out[3 * i] = char(a[i]);
  out[3 * i + 1] = uchar(a[i]);
  out[3 * i + 2] = ushort(a[i]);
}
