// what: <simd/simd.h> names and the other part headers
// out: np.zeros(3, np.float32)
// expect: [6, 2, 16]
#include <metal_stdlib>
#include <metal_math>
#include <metal_atomic>
#include <metal_simdgroup>
#include <metal_simdgroup_matrix>
#include <simd/simd.h>
using namespace metal;

kernel void test(device float* out) {
  simd_float3 v(1, 2, 3);
  vector_float2 w(1, 2);
  out[0] = v.x + v.y + v.z;
  out[1] = w.y;
  out[2] = sizeof(matrix_float2x2);
}
