// what: char, uchar, short and ushort widen to long by their own sign
// threads: 64
// out: np.zeros(256, np.int64)
// in: rng.integers(-2**15, 2**15, 64).astype(np.int16)
// expect: np.stack([a.astype(np.int8), a.astype(np.uint8), a, a.view(np.uint16)], 1).astype(np.int64).ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(device long* out, device const short* a, uint i [[thread_position_in_grid]]) {
  out[4 * i] = char(a[i]);
  out[4 * i + 1] = uchar(a[i]);
  out[4 * i + 2] = a[i];
  out[4 * i + 3] = ushort(a[i]);
}
