// what: components read and written by a run-time index
// threads: 4
// out: np.zeros(16, np.int32)
// expect: np.eye(4, dtype=np.int32).ravel() * 5 + 1
#include <metal_stdlib>
using namespace metal;

kernel void test(device int4* out, uint i [[thread_position_in_grid]]) {
  int4 v = 1;
  v[i] += 5;
  out[i] = v;
}
