// what: 64-bit signed and unsigned division
// threads: 64
// out: np.zeros(128, np.int64)
// in: rng.integers(-2**62, 2**62, 64)
// in: rng.integers(1, 2**40, 64)
// expect: np.stack([np.sign(a) * (abs(a) // b), (a.view(np.uint64) // b.view(np.uint64)).view(np.int64)], 1).ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device long* out,
    device const long* a,
    device const long* b,
    uint i [[thread_position_in_grid]]) {
  out[2 * i] = a[i] / b[i];
  out[2 * i + 1] = long(ulong(a[i]) / ulong(b[i]));
}
