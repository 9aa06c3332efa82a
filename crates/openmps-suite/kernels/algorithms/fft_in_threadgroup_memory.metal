// what: a radix-2 Fourier transform of 64 points
// threads: 64
// group: 64
// out: np.zeros(64, np.complex64)
// in: (rng.standard_normal(64) + 1j * rng.standard_normal(64)).astype(np.complex64)
// expect: np.fft.fft(a)
// tolerance: 1e-4
#include <metal_stdlib>
using namespace metal;

kernel void test(device float2* out, device const float2* a, uint i [[thread_position_in_grid]]) {
  threadgroup float2 values[64];
  values[reverse_bits(i) >> 26] = a[i];
  for (uint half_size = 1; half_size < 64; half_size *= 2) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float2 x, y;
    bool active = (i & half_size) == 0;
    if (active) {
      float angle = -M_PI_F * float(i & (half_size - 1)) / half_size;
      float2 w = float2(cos(angle), sin(angle));
      x = values[i];
      y = values[i + half_size];
      y = float2(y.x * w.x - y.y * w.y, y.x * w.y + y.y * w.x);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (active) {
      values[i] = x + y;
      values[i + half_size] = x - y;
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = values[i];
}
