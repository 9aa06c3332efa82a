// what: positions and sizes of the thread, its SIMD-group and its threadgroup
// threads: 128
// group: 64
// out: np.zeros((128, 8), np.int32)
// expect: (lambda i: np.stack([i % 64, i // 64, i % 32, i % 64 // 32, 0 * i + 64, 0 * i + 2, 0 * i + 32, 0 * i + 2], 1))(np.arange(128))
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    uint i [[thread_position_in_grid]],
    uint t [[thread_position_in_threadgroup]],
    uint g [[threadgroup_position_in_grid]],
    ushort lane [[thread_index_in_simdgroup]],
    ushort simd [[simdgroup_index_in_threadgroup]],
    uint size [[threads_per_threadgroup]],
    uint groups [[threadgroups_per_grid]],
    uint width [[threads_per_simdgroup]],
    uint simds [[simdgroups_per_threadgroup]]) {
  device int* o = out + 8 * i;
  o[0] = t;
  o[1] = g;
  o[2] = lane;
  o[3] = simd;
  o[4] = size;
  o[5] = groups;
  o[6] = width;
  o[7] = simds;
}
