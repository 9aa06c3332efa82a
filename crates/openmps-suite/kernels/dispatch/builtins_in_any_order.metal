// what: built-ins before, between and after buffers
// threads: 16
// group: 8
// out: np.zeros(16, np.int32)
// in: np.arange(16, dtype=np.int32)
// expect: [t + 10 * (t % 8) + 100 * (t // 8) for t in range(16)]
#include <metal_stdlib>
using namespace metal;

kernel void test(
    uint i [[thread_position_in_grid]],
    device int* out,
    uint t [[thread_index_in_threadgroup]],
    device const int* a,
    uint g [[threadgroup_position_in_grid]]) {
  out[i] = a[i] + 10 * t + 100 * g;
}
