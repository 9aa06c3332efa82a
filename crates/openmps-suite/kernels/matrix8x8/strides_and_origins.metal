// what: an 8 x 8 block from inside a wider matrix, stored with another stride
// threads: 32
// out: np.zeros((10, 12), np.float32)
// in: rng.standard_normal((20, 30)).astype(np.float32)
// let: expected = np.zeros((10, 12), np.float32)
// let: _ = expected.__setitem__((slice(2, 10), slice(4, 12)), a[5:13, 16:24])
// expect: expected
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a) {
  simdgroup_float8x8 block;
  simdgroup_load(block, a, 30, ulong2(16, 5));
  simdgroup_store(block, out, 12, ulong2(4, 2));
}
