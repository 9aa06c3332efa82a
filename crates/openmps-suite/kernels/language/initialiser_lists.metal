// what: aggregate, nested and designated initialisers
// out: np.zeros(6, np.int32)
// expect: [1, 2, 3, 0, 7, 8]
#include <metal_stdlib>
using namespace metal;

struct Inner {
  int x, y;
};
struct Outer {
  Inner pair;
  int values[2];
};

kernel void test(device int* out) {
  Outer o = {{1, 2}, {3}};
  Inner d = {.x = 7, .y = 8};
  out[0] = o.pair.x;
  out[1] = o.pair.y;
  out[2] = o.values[0];
  out[3] = o.values[1];
  out[4] = d.x;
  out[5] = d.y;
}
