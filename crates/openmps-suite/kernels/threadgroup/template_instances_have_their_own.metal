// what: threadgroup arrays in two instances of a function template
// threads: 16
// group: 16
// out: np.zeros(16, np.float32)
// expect: [15 - t + (15 - t) * 0.5 for t in range(16)]
#include <metal_stdlib>
using namespace metal;

template <typename T>
T reversed(T x, uint t) {
  threadgroup T shared[16];
  shared[t] = x;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return shared[15 - t];
}

kernel void test(device float* out, uint i [[thread_position_in_grid]]) {
  int whole = reversed<int>(i, i);
  float fraction = reversed<float>(i * 0.5f, i);
  out[i] = whole + fraction;
}
