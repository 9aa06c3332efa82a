// what: pairs rotated by angles that depend on position and channel
// threads: (8, 10)
// group: (8, 2)
// out: np.zeros((10, 16), np.float32)
// in: rng.standard_normal((10, 16)).astype(np.float32)
// let: angle = np.arange(10)[:, None] * 10000.0 ** (-np.arange(8) / 8)
// let: z = (a[:, :8] + 1j * a[:, 8:]) * np.exp(1j * angle)
// expect: np.concatenate([z.real, z.imag], 1)
// tolerance: 1e-5
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a, uint2 p [[thread_position_in_grid]]) {
  float angle = p.y * pow(10000.0f, -float(p.x) / 8), cosine;
  float sine = sincos(angle, cosine);
  float x = a[16 * p.y + p.x], y = a[16 * p.y + p.x + 8];
  out[16 * p.y + p.x] = x * cosine - y * sine;
  out[16 * p.y + p.x + 8] = x * sine + y * cosine;
}
