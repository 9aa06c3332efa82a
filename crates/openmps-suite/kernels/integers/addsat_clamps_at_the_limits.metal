// what: addsat and subsat on every width stop at the limits
// threads: 256
// out: np.zeros(512, np.int32)
// in: rng.integers(-128, 128, 256).astype(np.int8)
// in: rng.integers(-128, 128, 256).astype(np.int8)
// expect: np.stack([np.clip(a.astype(int) + b, -128, 127), np.clip(a.astype(int) - b, -128, 127)], 1).ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    device const char* a,
    device const char* b,
    uint i [[thread_position_in_grid]]) {
  out[2 * i] = addsat(a[i], b[i]);
  out[2 * i + 1] = subsat(a[i], b[i]);
}
