// what: as_type between float4, int4, short8-sized pairs and bytes
// threads: 4
// out: np.zeros(16, np.int32)
// in: rng.standard_normal(16).astype(np.float32)
// expect: a.view(np.int32)
#include <metal_stdlib>
using namespace metal;

kernel void test(device int4* out, device const float4* a, uint i [[thread_position_in_grid]]) {
  short4 low = as_type<short4>(a[i].xy), high = as_type<short4>(a[i].zw);
  out[i] = int4(as_type<int2>(low), as_type<int2>(high));
}
