// what: functions as template arguments
// threads: 6
// out: np.zeros(6, np.int32)
// expect: [2 * t + (3 * t if t % 2 else 2 * t) for t in range(6)]
#include <metal_stdlib>
using namespace metal;

int twice(int x) { return 2 * x; }
int thrice(int x) { return 3 * x; }
template <int (*F)(int)>
int apply(int x) {
  return F(x);
}

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  int second = i % 2 ? apply<thrice>(i) : apply<twice>(i);
  out[i] = apply<twice>(i) + second;
}
