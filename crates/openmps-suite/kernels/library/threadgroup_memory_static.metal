// what: a static threadgroup array is shared by the group and separate between groups
// threads: 128
// group: 64
// out: np.zeros(128, np.int32)
// expect: np.arange(128).reshape(2, 64)[:, ::-1].ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {
  threadgroup int shared[64];
  shared[t] = i;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = shared[63 - t];
}
