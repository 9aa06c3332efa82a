// what: threadgroup memory whose size the dispatch sets
// threads: 64
// group: 64
// threadgroup: 256
// out: np.zeros(64, np.float32)
// expect: np.roll(np.arange(64), -1) * 0.5
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float* out,
    threadgroup float* shared [[threadgroup(0)]],
    uint i [[thread_position_in_grid]]) {
  shared[i] = i * 0.5f;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = shared[(i + 1) % 64];
}
