// what: empty statements, loops and functions
// out: np.zeros(1, np.int32)
// expect: [6]
#include <metal_stdlib>
using namespace metal;

void nothing() {
}

kernel void test(device int* out) {
  int k = 0;
  for (; k < 5; k++)
    ;
  nothing();
  if (k == 5) {
  } else
    k = 100;
  ;
  out[0] = k + 1;
}
