// what: results of traits as values
// out: np.zeros(5, np.int32)
// expect: [1, 0, 1, 1, 0]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out) {
  out[0] = is_same_v<decltype(1.0h), half>;
  out[1] = is_same_v<decltype(1.0), half>;
  out[2] = is_convertible_v<int, float>;
  out[3] = is_unsigned_v<uchar>;
  out[4] = is_pointer_v<int>;
}
