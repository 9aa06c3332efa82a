// what: helpers that contain barriers and share an argument's memory
// threads: 64
// group: 32
// out: np.zeros(64, np.float32)
// in: rng.standard_normal(64).astype(np.float32)
// expect: (a.reshape(2, 32) - a.reshape(2, 32).max(1, keepdims=True)).ravel()
#include <metal_stdlib>
using namespace metal;

float maximum(threadgroup float* shared, float x, uint t) {
  shared[t] = x;
  for (uint stride = 16; stride > 0; stride /= 2) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < stride) shared[t] = max(shared[t], shared[t + stride]);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return shared[0];
}

kernel void test(
    device float* out,
    device const float* a,
    uint i [[thread_position_in_grid]],
    uint t [[thread_index_in_threadgroup]]) {
  threadgroup float shared[32];
  out[i] = a[i] - maximum(shared, a[i], t);
}
