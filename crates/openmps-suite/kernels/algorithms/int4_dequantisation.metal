// what: two 4-bit weights a byte with a scale and an offset for each block
// threads: 64
// out: np.zeros(128, np.float32)
// in: rng.integers(0, 256, 64).astype(np.uint8)
// in: rng.standard_normal(4).astype(np.float16)
// let: nibbles = np.stack([a & 15, a >> 4], 1).ravel().astype(np.float32)
// expect: (nibbles - 8) * np.repeat(b.astype(np.float32), 32)
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float2* out,
    device const uchar* a,
    device const half* b,
    uint i [[thread_position_in_grid]]) {
  float2 nibbles = float2(a[i] & 15, a[i] >> 4);
  out[i] = (nibbles - 8) * float(b[i / 16]);
}
