// what: the high half of 32-bit products
// threads: 64
// out: np.zeros(128, np.int32)
// in: rng.integers(-2**31, 2**31, 64).astype(np.int32)
// in: rng.integers(-2**31, 2**31, 64).astype(np.int32)
// expect: np.stack([(a.astype(np.int64) * b) >> 32, ((a.view(np.uint32).astype(np.uint64) * b.view(np.uint32)) >> np.uint64(32)).astype(np.int64)], 1).ravel().astype(np.uint64).astype(np.uint32).view(np.int32)
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    device const int* a,
    device const int* b,
    uint i [[thread_position_in_grid]]) {
  out[2 * i] = mulhi(a[i], b[i]);
  out[2 * i + 1] = int(mulhi(uint(a[i]), uint(b[i])));
}
