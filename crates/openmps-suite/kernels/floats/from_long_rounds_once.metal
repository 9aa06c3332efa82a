// what: 64-bit integers convert to the nearest float
// threads: 256
// out: np.zeros(512, np.float32)
// in: rng.integers(-2**63, 2**63, 256)
// expect: np.stack([a.astype(np.float32), a.view(np.uint64).astype(np.float32)], 1).ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const long* a, uint i [[thread_position_in_grid]]) {
  out[2 * i] = float(a[i]);
  out[2 * i + 1] = float(ulong(a[i]));
}
