// what: pixel arithmetic on uchar4 with widening
// threads: 64
// out: np.zeros((64, 4), np.uint8)
// in: rng.integers(0, 256, (64, 4)).astype(np.uint8)
// in: rng.integers(0, 256, (64, 4)).astype(np.uint8)
// expect: (a.astype(np.int32) + b + 1) // 2
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device uchar4* out,
    device const uchar4* a,
    device const uchar4* b,
    uint i [[thread_position_in_grid]]) {
  out[i] = uchar4((ushort4(a[i]) + ushort4(b[i]) + 1) / 2);
}
