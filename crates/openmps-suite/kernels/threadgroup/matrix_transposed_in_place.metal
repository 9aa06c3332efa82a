// what: pairs exchanged across the diagonal between two barriers
// threads: (8, 8)
// group: (8, 8)
// out: np.arange(64, dtype=np.int32)
// expect: np.arange(64).reshape(8, 8).T.ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, ushort2 p [[thread_position_in_threadgroup]]) {
  int other = out[p.x * 8 + p.y];
  threadgroup_barrier(mem_flags::mem_device);
  out[p.y * 8 + p.x] = other;
}
