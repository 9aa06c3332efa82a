// what: built-ins as ushort and ushort2
// threads: (8, 4)
// group: (8, 4)
// out: np.zeros(32, np.int32)
// expect: [t * 2 + 32 for t in range(32)]
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    ushort2 p [[thread_position_in_grid]],
    ushort t [[thread_index_in_threadgroup]],
    ushort width [[thread_execution_width]]) {
  out[p.y * 8 + p.x] = p.y * 8 + p.x + t + width;
}
