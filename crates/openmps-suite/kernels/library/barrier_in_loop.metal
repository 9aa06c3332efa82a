// what: a barrier inside a loop, as in a tree reduction
// threads: 256
// group: 128
// out: np.zeros(2, np.float32)
// in: np.arange(256, dtype=np.float32)
// expect: a.reshape(2, 128).sum(1)
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float* out,
    device const float* in,
    uint i [[thread_position_in_grid]],
    uint t [[thread_position_in_threadgroup]],
    uint g [[threadgroup_position_in_grid]],
    uint size [[threads_per_threadgroup]]) {
  threadgroup float partial[128];
  partial[t] = in[i];
  for (uint step = size / 2; step > 0; step /= 2) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < step) partial[t] += partial[t + step];
  }
  if (t == 0) out[g] = partial[0];
}
