// what: barriers in groups of 45 threads
// threads: 135
// group: 45
// out: np.zeros(135, np.int32)
// in: rng.integers(0, 99, 135).astype(np.int32)
// expect: a.reshape(3, 45)[:, ::-1].ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    device const int* a,
    uint i [[thread_position_in_grid]],
    uint t [[thread_index_in_threadgroup]]) {
  threadgroup int shared[45];
  shared[t] = a[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = shared[44 - t];
}
