// what: metal::array by value, in constant memory, and C arrays in thread memory
// out: np.zeros(5, np.int32)
// expect: [6, 3, 30, 5, 4]
#include <metal_stdlib>
using namespace metal;

constant array<int, 3> tens = {10, 20, 30};
static int total(array<int, 3> a) {
  int s = 0;
  for (auto x : a) s += x;
  return s;
}

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  array<int, 3> a = {1, 2, 3};
  out[0] = total(a);
  out[1] = a.size();
  out[2] = tens[i + 2];
  a[i] = 5;
  out[3] = a[0];
  int local[8];
  for (int k = 0; k < 8; k++) local[k] = k * k;
  out[4] = local[i + 2];
}
