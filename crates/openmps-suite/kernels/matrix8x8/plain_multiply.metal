// what: simdgroup_multiply without an addend
// threads: 32
// out: np.zeros((8, 8), np.float32)
// in: rng.integers(-5, 5, (8, 8)).astype(np.float32)
// expect: a @ a
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a) {
  simdgroup_float8x8 x, product;
  simdgroup_load(x, a, 8);
  simdgroup_multiply(product, x, x);
  simdgroup_store(product, out, 8);
}
