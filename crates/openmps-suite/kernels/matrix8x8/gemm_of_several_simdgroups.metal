// what: four SIMD-groups make a 16 x 16 product through threadgroup memory
// threads: 128
// group: 128
// out: np.zeros((16, 16), np.float32)
// in: rng.standard_normal((16, 24)).astype(np.float32)
// in: rng.standard_normal((24, 16)).astype(np.float32)
// expect: a @ b
// tolerance: 1e-4
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float* out,
    device const float* a,
    device const float* b,
    uint t [[thread_index_in_threadgroup]],
    uint sg [[simdgroup_index_in_threadgroup]]) {
  threadgroup float left[16 * 8], right[8 * 16];
  uint row = sg / 2 * 8, column = sg % 2 * 8;
  simdgroup_float8x8 sum(0.0f), x, y;
  for (uint k = 0; k < 24; k += 8) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    left[t] = a[t / 8 * 24 + k + t % 8];
    right[t] = b[(k + t / 16) * 16 + t % 16];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_load(x, left + row * 8, 8);
    simdgroup_load(y, right + column, 16);
    simdgroup_multiply_accumulate(sum, x, y, sum);
  }
  simdgroup_store(sum, out + row * 16 + column, 16);
}
