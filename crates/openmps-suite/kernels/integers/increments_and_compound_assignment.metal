// what: every compound assignment, prefix and postfix increments
// out: np.zeros(8, np.int32)
// in: np.array([12], np.int32)
// expect: [15, 30, 6, 2, 6, 38, 12, 27]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a) {
  int x = a[0];
  out[0] = (x += 3);
  out[1] = (x *= 2);
  out[2] = (x /= 5);
  out[3] = (x %= 4);
  out[4] = (x |= 4);
  out[5] = x++ + 32;
  out[6] = --x * 2;
  out[7] = (x ^= 29);
}
