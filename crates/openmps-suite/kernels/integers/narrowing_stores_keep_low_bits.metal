// what: storing int to char, uchar and short keeps the low bits
// threads: 64
// out: np.zeros(192, np.int32)
// in: rng.integers(-2**31, 2**31, 64).astype(np.int32)
// expect: np.stack([a.astype(np.int8).astype(np.int32), a.astype(np.uint8).astype(np.int32), a.astype(np.int16).astype(np.int32)], 1).ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  char narrow = char(a[i]);
  uchar unsigned_narrow = uchar(a[i]);
  short half_width = short(a[i]);
  out[3 * i] = narrow;
  out[3 * i + 1] = unsigned_narrow;
  out[3 * i + 2] = half_width;
}
