// what: a softmax of one row for each threadgroup
// threads: 512
// group: 128
// out: np.zeros((4, 300), np.float32)
// in: rng.standard_normal((4, 300)).astype(np.float32) * 5
// let: e = np.exp(a - a.max(1, keepdims=True))
// expect: e / e.sum(1, keepdims=True)
// tolerance: 1e-5
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float* out,
    device const float* a,
    uint t [[thread_index_in_threadgroup]],
    uint g [[threadgroup_position_in_grid]]) {
  threadgroup float shared[128];
  device const float* row = a + 300 * g;
  float largest = -INFINITY;
  for (uint k = t; k < 300; k += 128) largest = max(largest, row[k]);
  shared[t] = largest;
  for (uint stride = 64; stride > 0; stride /= 2) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < stride) shared[t] = max(shared[t], shared[t + stride]);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  largest = shared[0];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float sum = 0;
  for (uint k = t; k < 300; k += 128) sum += exp(row[k] - largest);
  shared[t] = sum;
  for (uint stride = 64; stride > 0; stride /= 2) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < stride) shared[t] += shared[t + stride];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint k = t; k < 300; k += 128) out[300 * g + k] = exp(row[k] - largest) / shared[0];
}
