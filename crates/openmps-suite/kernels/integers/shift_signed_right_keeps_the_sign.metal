// what: >> on int copies the sign bit, on uint it shifts zeros in
// threads: 64
// out: np.zeros(128, np.int32)
// in: rng.integers(-2**31, 2**31, 64).astype(np.int32)
// in: rng.integers(0, 32, 64).astype(np.int32)
// expect: np.stack([a >> b, (a.view(np.uint32) >> b.view(np.uint32)).view(np.int32)], 1).ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    device const int* a,
    device const int* b,
    uint i [[thread_position_in_grid]]) {
  out[2 * i] = a[i] >> b[i];
  out[2 * i + 1] = int(uint(a[i]) >> b[i]);
}
