// what: scalars, vectors, structs and arrays in the constant address space
// threads: 4
// out: np.zeros(4, np.float32)
// in: np.array([2.0], np.float32)
// in: np.array([3, 4], np.int64)
// in: np.array([1, 2, 3, 4], np.float32)
// expect: a[0] * np.arange(4) + 7 + c
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float* out,
    constant float& scale,
    constant long2& offset,
    constant float* table,
    uint i [[thread_position_in_grid]]) {
  out[i] = scale * i + offset.x + offset.y + table[i];
}
