// what: load, multiply-accumulate and store of 8 x 8 matrices, also transposed
// threads: 32
// out: np.zeros((2, 8, 8), np.float32)
// in: np.arange(64, dtype=np.float32).reshape(8, 8) % 7
// in: np.arange(64, dtype=np.float32).reshape(8, 8) % 5
// expect: np.stack([a @ b + 2, a.T @ b])
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a, device const float* b) {
  simdgroup_float8x8 ma, mb, mt, mc;
  simdgroup_load(ma, a, 8);
  simdgroup_load(mb, b);
  mc = make_filled_simdgroup_matrix<float, 8, 8>(2.0f);
  simdgroup_multiply_accumulate(mc, ma, mb, mc);
  simdgroup_store(mc, out, 8);
  simdgroup_load(mt, a, 8, ulong2(0, 0), true);
  simdgroup_multiply(mc, mt, mb);
  simdgroup_store(mc, out + 64, 8);
}
