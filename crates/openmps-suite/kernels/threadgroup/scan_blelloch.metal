// what: an exclusive scan by an up sweep and a down sweep
// threads: 128
// group: 64
// out: np.zeros(128, np.int32)
// in: rng.integers(0, 9, 128).astype(np.int32)
// expect: np.cumsum(a.reshape(2, 64), 1).ravel() - a
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    device const int* a,
    uint i [[thread_position_in_grid]],
    uint t [[thread_index_in_threadgroup]]) {
  threadgroup int tree[64];
  tree[t] = a[i];
  for (uint step = 1; step < 64; step *= 2) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if ((t + 1) % (2 * step) == 0) tree[t] += tree[t - step];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t == 63) tree[63] = 0;
  for (uint step = 32; step > 0; step /= 2) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if ((t + 1) % (2 * step) == 0) {
      int left = tree[t - step];
      tree[t - step] = tree[t];
      tree[t] += left;
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = tree[t];
}
