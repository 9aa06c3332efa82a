// what: a subnormal operand counts as zero, while copies keep its bits
// out: np.zeros(3, np.int32)
// in: np.array([5, 1 << 30], np.int32)
// expect: [5, 0, 1]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const float* a) {
  out[0] = as_type<int>(a[0]);
  out[1] = as_type<int>(a[0] * a[1]);
  out[2] = a[0] == 0.0f;
}
