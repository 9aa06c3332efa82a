// what: simdgroup_barrier orders threadgroup memory inside one SIMD-group
// threads: 64
// out: np.zeros(64, np.int32)
// expect: np.arange(64).reshape(2, 32)[:, ::-1].ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  threadgroup int shared[64];
  shared[i] = i;
  simdgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = shared[i - lane + 31 - lane];
}
