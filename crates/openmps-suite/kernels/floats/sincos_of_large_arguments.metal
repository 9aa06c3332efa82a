// what: sin and cos reduce large arguments accurately
// threads: 128
// out: np.zeros(256, np.float32)
// in: (rng.uniform(-1, 1, 128) * 10.0 ** rng.integers(0, 9, 128)).astype(np.float32)
// expect: np.stack([np.sin(a.astype(np.float64)), np.cos(a.astype(np.float64))], 1).ravel()
// tolerance: 1e-6
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a, uint i [[thread_position_in_grid]]) {
  float cosine;
  out[2 * i] = sincos(a[i], cosine);
  out[2 * i + 1] = cosine;
}
