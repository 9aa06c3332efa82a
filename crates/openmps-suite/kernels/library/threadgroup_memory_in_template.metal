// what: threadgroup arrays in a function template are one object for each instantiation
// threads: 32
// out: np.zeros(64, np.float32)
// expect: np.concatenate([np.arange(32)[::-1], np.arange(32)[::-1] + 0.5])
#include <metal_stdlib>
using namespace metal;

template <typename T, int N>
static T reversed(T value, uint t) {
  threadgroup T shared[N];
  shared[t] = value;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return shared[N - 1 - t];
}

kernel void test(device float* out, uint t [[thread_position_in_threadgroup]]) {
  out[t] = reversed<float, 32>(t, t);
  out[t + 32] = reversed<half, 32>(half(t) + 0.5h, t);
}
