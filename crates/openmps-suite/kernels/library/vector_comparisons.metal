// what: comparisons give bool vectors; all, any, select and logical operators on them
// out: np.zeros(12, np.int32)
// expect: [0, 1, 0, 0, 1, 0, 0, 1, 10, 2, 30, 4]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out) {
  int4 a(1, 2, 3, 4), b(1, 3, 3, 5);
  bool4 less = a < b;
  out[0] = less.x;
  out[1] = less.y;
  out[2] = less.z && !less.z;
  out[3] = all(less);
  out[4] = any(less);
  out[5] = all(!(a == a));
  out[6] = any(a > b);
  out[7] = all((a <= b) || (a != a));
  device int4* v = (device int4*)(out + 8);
  *v = select(a, a * 10, a == b);
}
