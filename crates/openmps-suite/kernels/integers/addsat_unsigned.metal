// what: unsigned saturation of ushort and uint
// threads: 64
// out: np.zeros(128, np.int64)
// in: rng.integers(-2**31, 2**31, 64).astype(np.int32)
// in: rng.integers(-2**31, 2**31, 64).astype(np.int32)
// expect: np.stack([np.minimum(a.view(np.uint32).astype(np.int64) + b.view(np.uint32), 2**32 - 1), np.maximum((a & 0xffff).astype(np.int64) - (b & 0xffff), 0)], 1).ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device long* out,
    device const uint* a,
    device const uint* b,
    uint i [[thread_position_in_grid]]) {
  out[2 * i] = addsat(a[i], b[i]);
  out[2 * i + 1] = subsat(ushort(a[i]), ushort(b[i]));
}
