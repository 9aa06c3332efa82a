// what: the low half of a 64-bit product, signed and unsigned alike
// threads: 64
// out: np.zeros(128, np.int64)
// in: rng.integers(-2**63, 2**63, 64)
// in: rng.integers(-2**63, 2**63, 64)
// expect: np.stack([a * b, a * b], 1).ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device long* out,
    device const long* a,
    device const long* b,
    uint i [[thread_position_in_grid]]) {
  out[2 * i] = a[i] * b[i];
  out[2 * i + 1] = long(ulong(a[i]) * ulong(b[i]));
}
