// what: integer vector operators, also %, bit operations and shifts
// out: np.zeros(32, np.int32)
// expect: [1, 0, 1, 2, 2, 2, 2, 4, 7, 7, 7, 7, 5, 5, 5, 3, -8, -8, -8, -8, 14, 28, 56, 112, 3, 1, 0, 0, 8, 8, 8, 8]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int4* out) {
  int4 a(7), b(2, 7, 6, 5);
  out[0] = a % b;
  out[1] = b & int4(2, 2, 2, 4);
  out[2] = a | b;
  out[3] = a ^ int4(2, 2, 2, 4);
  out[4] = ~a;
  out[5] = a << int4(1, 2, 3, 4);
  out[6] = a >> int4(1, 2, 3, 4);
  out[7] = ++a;
}
