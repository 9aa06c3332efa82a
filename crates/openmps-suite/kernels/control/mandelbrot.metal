// what: iteration counts of the Mandelbrot set
// threads: (32, 24)
// group: (8, 8)
// out: np.zeros((24, 32), np.int32)
// let: c = (np.arange(32) * np.float32(0.09375) - 2)[None, :] + 1j * (np.arange(24) * np.float32(0.09375) - np.float32(1.125))[:, None]
// let: z = np.zeros_like(c)
// let: count = np.zeros(c.shape, int)
// let: run = [(z := np.where(abs(z) <= 2, z * z + c, z), count := count + (abs(z) <= 2)) for _ in range(20)][-1]
// expect: np.minimum(run[1], 20)
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint2 p [[thread_position_in_grid]]) {
  // Steps that floats represent exactly.
  float2 c = float2(p.x * 0.09375f - 2, p.y * 0.09375f - 1.125f), z = 0;
  int count = 0;
  for (int k = 0; k < 20; k++) {
    z = float2(z.x * z.x - z.y * z.y, 2 * z.x * z.y) + c;
    if (dot(z, z) > 4) break;
    count++;
  }
  out[p.y * 32 + p.x] = count;
}
