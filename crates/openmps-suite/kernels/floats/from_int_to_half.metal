// what: integers convert to the nearest half, infinity above its range
// threads: 256
// out: np.zeros(256, np.float16)
// in: rng.integers(-80000, 80000, 256).astype(np.int32)
// expect: a.astype(np.float32).astype(np.float16)
#include <metal_stdlib>
using namespace metal;

kernel void test(device half* out, device const int* a, uint i [[thread_position_in_grid]]) {
  out[i] = half(a[i]);
}
