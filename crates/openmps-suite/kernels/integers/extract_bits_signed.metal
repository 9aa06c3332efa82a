// what: extract_bits extends by sign for int and by zero for uint
// threads: 64
// out: np.zeros(128, np.int32)
// in: rng.integers(-2**31, 2**31, 64).astype(np.int32)
// expect: np.stack([(a << 19) >> 27, (a.view(np.uint32) >> 8 & 31).view(np.int32)], 1).ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  out[2 * i] = extract_bits(a[i], 8, 5);
  out[2 * i + 1] = int(extract_bits(uint(a[i]), 8, 5));
}
