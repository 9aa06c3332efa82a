// what: metal::array with size(), iteration and copies
// threads: 4
// out: np.zeros(4, np.int32)
// expect: [0 + 1 + 2 + 3 + 4 * t * t for t in range(4)]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  array<int, 4> values = {0, 1, 2, 3};
  array<int, 4> copy = values;
  for (uint k = 0; k < copy.size(); k++) copy[k] += i * i;
  int sum = 0;
  for (int x : copy) sum += x;
  out[i] = sum;
}
