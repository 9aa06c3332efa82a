// what: buffers without an index take the lowest free one in order of declaration
// threads: 4
// out: np.zeros(4, np.int32)
// in: np.array([1, 2, 3, 4], np.int32)
// in: np.array([10, 20, 30, 40], np.int32)
// in: np.array([100, 200, 300, 400], np.int32)
// expect: a + 2 * b + 3 * c
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    device const int* c [[buffer(3)]],
    const device int* a,
    device const int* b [[buffer(2)]],
    uint i [[thread_position_in_grid]]) {
  out[i] = a[i] + 2 * b[i] + 3 * c[i];
}
