// what: conversions to half round to nearest, ties to even
// threads: 256
// out: np.zeros(256, np.float16)
// in: np.concatenate([1 + np.arange(1, 256, 2) / 2048, rng.uniform(-7e4, 7e4, 128)]).astype(np.float32)
// expect: a.astype(np.float16)
#include <metal_stdlib>
using namespace metal;

kernel void test(device half* out, device const float* a, uint i [[thread_position_in_grid]]) {
  out[i] = half(a[i]);
}
