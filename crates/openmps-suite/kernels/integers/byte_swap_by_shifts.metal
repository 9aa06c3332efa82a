// what: a byte swap written with shifts, and through as_type
// threads: 64
// out: np.zeros(128, np.int32)
// in: rng.integers(-2**31, 2**31, 64).astype(np.int32)
// expect: np.repeat(a.byteswap(), 2)
#include <metal_stdlib>
using namespace metal;

kernel void test(device uint* out, device const uint* a, uint i [[thread_position_in_grid]]) {
  uint x = a[i];
  out[2 * i] = x << 24 | (x & 0xff00) << 8 | (x >> 8 & 0xff00) | x >> 24;
  out[2 * i + 1] = as_type<uint>(as_type<uchar4>(x).wzyx);
}
