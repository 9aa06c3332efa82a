// what: bfloat products and sums are computed in float and rounded
// threads: 64
// out: np.zeros(64, np.float32)
// in: rng.integers(-256, 256, 64).astype(np.float32)
// in: rng.integers(-256, 256, 64).astype(np.float32)
// let: bits = (a * b).view(np.uint32)
// expect: (((bits + 0x7fff + (bits >> 16 & 1)) >> 16) << 16).astype(np.uint32).view(np.float32)
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float* out,
    device const float* a,
    device const float* b,
    uint i [[thread_position_in_grid]]) {
  bfloat product = bfloat(a[i]) * bfloat(b[i]);
  out[i] = float(product);
}
