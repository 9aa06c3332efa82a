// what: long arithmetic split into 32-bit halves by as_type
// threads: 64
// out: np.zeros(128, np.int32)
// in: rng.integers(-2**63, 2**63, 64)
// expect: np.stack([a & 0xffffffff, (a >> 32) & 0xffffffff], 1).ravel().astype(np.uint32).view(np.int32)
#include <metal_stdlib>
using namespace metal;

kernel void test(device uint* out, device const ulong* a, uint i [[thread_position_in_grid]]) {
  uint2 halves = as_type<uint2>(a[i]);
  out[2 * i] = halves.x;
  out[2 * i + 1] = halves.y;
}
