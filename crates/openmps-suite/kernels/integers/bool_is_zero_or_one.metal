// what: conversions to bool give 0 or 1 from any integer and float
// threads: 5
// out: np.zeros(10, np.int32)
// in: np.array([0, 1, -3, 256, 65536], np.int32)
// in: np.array([0.0, -0.0, 0.5, np.nan, 1e-30], np.float32)
// expect: [0, 0, 1, 0, 1, 1, 1, 1, 1, 1]
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    device const int* a,
    device const float* b,
    uint i [[thread_position_in_grid]]) {
  bool from_integer = a[i], from_float = b[i];
  out[2 * i] = from_integer;
  out[2 * i + 1] = from_float;
}
