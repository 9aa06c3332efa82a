// what: a table passed in the constant address space
// threads: 64
// out: np.zeros(64, np.float32)
// in: rng.standard_normal(10).astype(np.float32)
// expect: a[np.arange(64) * 7 % 10]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, constant float* table, uint i [[thread_position_in_grid]]) {
  out[i] = table[i * 7 % 10];
}
