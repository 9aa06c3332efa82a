// what: function pointers as arguments and as template arguments
// threads: 3
// out: np.zeros((3, 2), np.int32)
// expect: [[1, 0], [2, 10], [3, 20]]
#include <metal_stdlib>
using namespace metal;

static int next(int x) { return x + 1; }
static int tenfold(int x) { return x * 10; }
static int apply(int (*f)(int), int x) { return f(x); }
template <int (*F)(int)>
int apply_static(int x) {
  return F(x);
}

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  out[2 * i] = apply(next, i);
  out[2 * i + 1] = apply_static<tenfold>(i);
}
