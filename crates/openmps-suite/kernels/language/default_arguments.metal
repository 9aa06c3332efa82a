// what: default arguments of functions and templates
// out: np.zeros(3, np.int32)
// expect: [11, 21, 3]
#include <metal_stdlib>
using namespace metal;

int add(int x, int y = 10) {
  return x + y;
}
template <typename T = int, int N = 3>
T constant_of() {
  return N;
}

kernel void test(device int* out) {
  out[0] = add(1);
  out[1] = add(1, 20);
  out[2] = constant_of<>();
}
