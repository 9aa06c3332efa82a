// what: private arrays passed by pointer and by reference
// threads: 8
// out: np.zeros(8, np.int32)
// expect: [t * 4 + 6 + 3 for t in range(8)]
#include <metal_stdlib>
using namespace metal;

void shift(thread int* values, int by) {
  for (int k = 0; k < 4; k++) values[k] += by;
}
int sum(thread const int (&values)[4]) {
  return values[0] + values[1] + values[2] + values[3];
}

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  int values[4] = {0, 1, 2, 3};
  shift(values, i);
  out[i] = sum(values) + values[3] - int(i);
}
