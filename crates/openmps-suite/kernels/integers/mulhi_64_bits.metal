// what: the high half of 64-bit products
// threads: 32
// out: np.zeros(64, np.int64)
// in: rng.integers(-2**63, 2**63, 32)
// in: rng.integers(-2**63, 2**63, 32)
// expect: np.array([[x * y >> 64, (x % 2**64) * (y % 2**64) >> 64] for x, y in zip(a.tolist(), b.tolist())], object).ravel().__mod__(2**64).astype(np.uint64).view(np.int64)
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device ulong* out,
    device const long* a,
    device const long* b,
    uint i [[thread_position_in_grid]]) {
  out[2 * i] = ulong(mulhi(a[i], b[i]));
  out[2 * i + 1] = mulhi(ulong(a[i]), ulong(b[i]));
}
