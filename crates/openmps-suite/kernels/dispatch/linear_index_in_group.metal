// what: thread_index_in_threadgroup counts x first, then y, then z
// threads: (4, 3, 2)
// group: (4, 3, 2)
// out: np.zeros(24, np.int32)
// expect: np.arange(24)
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    uint3 p [[thread_position_in_threadgroup]],
    uint t [[thread_index_in_threadgroup]]) {
  out[(p.z * 3 + p.y) * 4 + p.x] = t;
}
