// what: conversions to bfloat round to nearest, ties to even
// threads: 256
// out: np.zeros(256, np.int16)
// in: np.concatenate([1 + np.arange(1, 256, 2) / 256, rng.uniform(-1e30, 1e30, 128)]).astype(np.float32)
// let: bits = a.view(np.uint32)
// expect: ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(np.uint16).view(np.int16)
#include <metal_stdlib>
using namespace metal;

kernel void test(device bfloat* out, device const float* a, uint i [[thread_position_in_grid]]) {
  out[i] = bfloat(a[i]);
}
