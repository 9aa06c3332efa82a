// what: bindings to a struct and to an array
// out: np.zeros(4, np.int32)
// expect: [4, 9, 1, 2]
#include <metal_stdlib>
using namespace metal;

struct Point {
  int x, y;
};

kernel void test(device int* out) {
  Point p = {4, 9};
  auto [x, y] = p;
  int values[2] = {1, 2};
  auto& [first, second] = values;
  out[0] = x;
  out[1] = y;
  out[2] = first;
  out[3] = second;
}
