// what: nextafter moves to the neighbouring float
// threads: 64
// out: np.zeros(128, np.float32)
// in: rng.standard_normal(64).astype(np.float32)
// expect: np.stack([np.nextafter(a, np.float32(np.inf)), np.nextafter(a, np.float32(-np.inf))], 1).ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a, uint i [[thread_position_in_grid]]) {
  out[2 * i] = nextafter(a[i], INFINITY);
  out[2 * i + 1] = nextafter(a[i], -INFINITY);
}
