// what: return from the middle of two loops in a helper function
// threads: 40
// out: np.zeros(40, np.int32)
// expect: [next((x * 100 + y for x in range(10) for y in range(10) if x * y == t), -1) for t in range(40)]
#include <metal_stdlib>
using namespace metal;

int find(int product) {
  for (int x = 0; x < 10; x++)
    for (int y = 0; y < 10; y++)
      if (x * y == product) return x * 100 + y;
  return -1;
}

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  out[i] = find(i);
}
