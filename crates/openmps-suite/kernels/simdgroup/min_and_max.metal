// what: simd_min and simd_max of signed and unsigned values
// threads: 64
// out: np.zeros(256, np.int32)
// in: rng.integers(-2**31, 2**31, 64).astype(np.int32)
// let: s = a.reshape(2, 32)
// let: u = s.view(np.uint32)
// let: rows = np.stack([s.min(1), s.max(1), u.min(1).view(np.int32), u.max(1).view(np.int32)], 1)
// expect: np.repeat(rows, 32, 0)
#include <metal_stdlib>
using namespace metal;

kernel void test(device int4* out, device const int* a, uint i [[thread_position_in_grid]]) {
  uint u = a[i];
  out[i] = int4(simd_min(a[i]), simd_max(a[i]), int(simd_min(u)), int(simd_max(u)));
}
