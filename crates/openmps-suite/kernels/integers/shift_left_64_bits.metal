// what: left shifts of long by a variable count
// threads: 64
// out: np.zeros(64, np.int64)
// in: rng.integers(-2**63, 2**63, 64)
// in: rng.integers(0, 64, 64)
// expect: a << b
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device long* out,
    device const long* a,
    device const long* b,
    uint i [[thread_position_in_grid]]) {
  out[i] = long(ulong(a[i]) << b[i]);
}
