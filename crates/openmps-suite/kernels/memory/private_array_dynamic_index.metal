// what: a private array written and read at run-time indices
// threads: 64
// out: np.zeros(64, np.int32)
// expect: [(t * 5 % 16) ** 2 + t for t in range(64)]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  int table[16];
  for (int k = 0; k < 16; k++) table[k] = k * k;
  table[i * 5 % 16] += i;
  out[i] = table[i * 5 % 16];
}
