// what: built-ins as uint3, ushort2 and ushort
// threads: 64
// group: 32
// out: np.zeros((64, 4), np.int32)
// expect: (lambda i: np.stack([i, 0 * i, i % 32, 0 * i + 1], 1))(np.arange(64))
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    uint3 i [[thread_position_in_grid]],
    ushort2 t [[thread_position_in_threadgroup]],
    ushort3 size [[threads_per_threadgroup]]) {
  out[4 * i.x + 0] = i.x;
  out[4 * i.x + 1] = i.y + i.z + t.y;
  out[4 * i.x + 2] = t.x;
  out[4 * i.x + 3] = size.y * size.z;
}
