// what: 64-bit index arithmetic
// threads: 16
// out: np.zeros(16, np.int32)
// in: np.arange(16, dtype=np.int32)
// expect: np.arange(16)
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  ulong far = ulong(i) + (1ul << 40);
  out[i] = a[far - (1ul << 40)];
}
