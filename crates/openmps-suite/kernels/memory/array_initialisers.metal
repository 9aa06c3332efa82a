// what: partial initialisers zero the rest
// out: np.zeros(8, np.int32)
// expect: [1, 2, 0, 0, 0, 0, 9, 0]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out) {
  int partial[4] = {1, 2};
  int zeros[2] = {};
  int sized[] = {9, 0};
  for (int k = 0; k < 4; k++) out[k] = partial[k];
  for (int k = 0; k < 2; k++) {
    out[4 + k] = zeros[k];
    out[6 + k] = sized[k];
  }
}
