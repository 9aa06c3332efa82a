// what: abs of the most negative int is itself
// threads: 64
// out: np.zeros(64, np.int32)
// in: np.concatenate([[-2**31], rng.integers(-2**31, 2**31, 63)]).astype(np.int32)
// expect: np.abs(a.astype(np.int64)).astype(np.uint32).view(np.int32)
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  out[i] = abs(a[i]);
}
