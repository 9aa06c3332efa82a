// what: a two-dimensional private array
// threads: 16
// out: np.zeros(16, np.int32)
// expect: [sum((r * 4 + t % 4) for r in range(4)) + sum(t // 4 * 4 + c for c in range(4)) for t in range(16)]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  int m[4][4];
  for (int r = 0; r < 4; r++)
    for (int c = 0; c < 4; c++) m[r][c] = r * 4 + c;
  int sum = 0;
  for (int k = 0; k < 4; k++) sum += m[k][i % 4] + m[i / 4][k];
  out[i] = sum;
}
