// what: a union read through another member
// threads: 8
// out: np.zeros(8, np.int32)
// in: rng.standard_normal(8).astype(np.float32)
// expect: a.view(np.int32)
#include <metal_stdlib>
using namespace metal;

union Bits {
  float number;
  int bits;
};

kernel void test(device int* out, device const float* a, uint i [[thread_position_in_grid]]) {
  Bits u;
  u.number = a[i];
  out[i] = u.bits;
}
