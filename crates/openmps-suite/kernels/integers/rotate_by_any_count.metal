// what: rotate takes the count modulo the width
// threads: 80
// out: np.zeros(80, np.int32)
// in: rng.integers(-2**31, 2**31, 80).astype(np.int32)
// expect: np.array([((x << (k % 32)) | (x >> (-k % 32))) & 0xffffffff for k, x in enumerate(a.view(np.uint32).tolist())], np.uint32).view(np.int32)
#include <metal_stdlib>
using namespace metal;

kernel void test(device uint* out, device const uint* a, uint i [[thread_position_in_grid]]) {
  out[i] = rotate(a[i], i);
}
