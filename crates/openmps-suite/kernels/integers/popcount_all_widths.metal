// what: popcount on 8, 16, 32 and 64 bits
// threads: 64
// out: np.zeros(256, np.int32)
// in: rng.integers(-2**63, 2**63, 64)
// expect: np.array([[bin(int(x) & m).count("1") for m in (0xff, 0xffff, 0xffffffff, 2**64 - 1)] for x in a]).ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const long* a, uint i [[thread_position_in_grid]]) {
  out[4 * i] = popcount(uchar(a[i]));
  out[4 * i + 1] = popcount(ushort(a[i]));
  out[4 * i + 2] = popcount(uint(a[i]));
  out[4 * i + 3] = int(popcount(ulong(a[i])));
}
