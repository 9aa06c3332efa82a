// what: SIMD functions on char, uchar, short and ushort wrap in their width
// threads: 32
// out: np.zeros((32, 4), np.int32)
// expect: np.tile([np.array(320).astype(np.int8), np.array(320).astype(np.uint8), 3200, 65535], (32, 1))
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  out[4 * i + 0] = simd_sum(char(10));
  out[4 * i + 1] = simd_sum(uchar(10));
  out[4 * i + 2] = simd_sum(short(100));
  out[4 * i + 3] = simd_max(ushort(i == 3 ? 65535 : i));
}
