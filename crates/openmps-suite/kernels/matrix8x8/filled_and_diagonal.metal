// what: matrices made from one number
// threads: 32
// out: np.zeros((2, 8, 8), np.float32)
// expect: [np.full((8, 8), 2.5), np.eye(8) * 3]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out) {
  simdgroup_float8x8 filled = make_filled_simdgroup_matrix<float, 8, 8>(2.5f);
  simdgroup_float8x8 diagonal(3.0f);
  simdgroup_store(filled, out, 8);
  simdgroup_store(diagonal, out + 64, 8);
}
