// what: arguments in another order than their indices
// threads: 4
// out: np.zeros(4, np.int32)
// in: np.arange(4, dtype=np.int32)
// in: np.arange(4, dtype=np.int32) * 10
// expect: np.arange(4) * 9
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device const int* b [[buffer(2)]],
    device int* out [[buffer(0)]],
    device const int* a [[buffer(1)]],
    uint i [[thread_position_in_grid]]) {
  out[i] = b[i] - a[i];
}
