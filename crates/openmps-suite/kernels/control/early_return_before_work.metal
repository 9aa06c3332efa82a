// what: threads past the end return at once
// threads: 64
// out: np.full(64, -1, np.int32)
// in: np.array([40], np.int32)
// expect: np.where(np.arange(64) < 40, np.arange(64) ** 2, -1)
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, constant int& count, uint i [[thread_position_in_grid]]) {
  if (int(i) >= count) return;
  out[i] = i * i;
}
