// what: two counters in one for statement
// out: np.zeros(5, np.int32)
// expect: [10, 9, 8, 7, 6]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out) {
  for (int low = 0, high = 10; low < high; low++, high--) out[low] = high;
}
