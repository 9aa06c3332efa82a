// what: half3x3 products round to half
// out: np.zeros((1, 4), np.float16)
// in: rng.integers(-4, 5, (3, 4)).astype(np.float16)
// in: rng.integers(-4, 5, 4).astype(np.float16)
// expect: [[*(a[:, :3].T @ b[:3]), 0]]
#include <metal_stdlib>
using namespace metal;

kernel void test(device half4* out, device const half3x3& a, device const half3& b) {
  out[0] = half4(a * b, 0);
}
