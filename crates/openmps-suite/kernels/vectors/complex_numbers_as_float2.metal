// what: complex multiplication and division written on float2
// threads: 32
// out: np.zeros(32, np.complex64)
// in: (rng.standard_normal(32) + 1j * rng.standard_normal(32)).astype(np.complex64)
// in: (2 + rng.standard_normal(32) * 0.3 + 1j * rng.standard_normal(32)).astype(np.complex64)
// expect: a * b / (a + 5)
// tolerance: 1e-5
#include <metal_stdlib>
using namespace metal;

float2 multiply(float2 x, float2 y) {
  return float2(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x);
}
float2 divide(float2 x, float2 y) {
  return multiply(x, float2(y.x, -y.y)) / dot(y, y);
}

kernel void test(
    device float2* out,
    device const float2* a,
    device const float2* b,
    uint i [[thread_position_in_grid]]) {
  out[i] = divide(multiply(a[i], b[i]), a[i] + float2(5, 0));
}
