// what: user operators on a struct, mixed with scalars
// threads: 16
// out: np.zeros(16, np.complex64)
// in: (rng.standard_normal(16) + 1j * rng.standard_normal(16)).astype(np.complex64)
// expect: a * a + a - 1
// tolerance: 1e-5
#include <metal_stdlib>
using namespace metal;

struct Complex {
  float real, imaginary;
};
Complex operator+(Complex x, Complex y) {
  return {x.real + y.real, x.imaginary + y.imaginary};
}
Complex operator*(Complex x, Complex y) {
  return {x.real * y.real - x.imaginary * y.imaginary, x.real * y.imaginary + x.imaginary * y.real};
}
Complex operator-(Complex x, float y) {
  return {x.real - y, x.imaginary};
}

kernel void test(device Complex* out, device const Complex* a, uint i [[thread_position_in_grid]]) {
  Complex x = a[i];
  out[i] = x * x + x - 1;
}
