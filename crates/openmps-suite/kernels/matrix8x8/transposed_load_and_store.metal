// what: transposition on the way in and on the way out
// threads: 32
// out: np.zeros((2, 8, 8), np.float32)
// in: rng.standard_normal((8, 8)).astype(np.float32)
// expect: [a.T, a.T]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a) {
  simdgroup_float8x8 in, plain;
  simdgroup_load(in, a, 8, ulong2(0), true);
  simdgroup_store(in, out, 8);
  simdgroup_load(plain, a, 8);
  simdgroup_store(plain, out + 64, 8, ulong2(0), true);
}
