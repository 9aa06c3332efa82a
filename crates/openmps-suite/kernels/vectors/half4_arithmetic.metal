// what: half4 operations round to half by component
// threads: 16
// out: np.zeros((16, 4), np.float16)
// in: rng.standard_normal((16, 4)).astype(np.float16)
// in: rng.standard_normal((16, 4)).astype(np.float16)
// expect: (a + b) * a
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device half4* out,
    device const half4* a,
    device const half4* b,
    uint i [[thread_position_in_grid]]) {
  out[i] = (a[i] + b[i]) * a[i];
}
