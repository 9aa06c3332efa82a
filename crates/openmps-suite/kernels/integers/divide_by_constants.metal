// what: division by constants, which compilers turn into multiplications
// threads: 256
// out: np.zeros(1024, np.int32)
// in: rng.integers(-2**31, 2**31, 256).astype(np.int32)
// expect: np.stack([np.sign(a) * (abs(a.astype(np.int64)) // d) for d in (3, 7, 10, 1000)], 1).ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  out[4 * i] = a[i] / 3;
  out[4 * i + 1] = a[i] / 7;
  out[4 * i + 2] = a[i] / 10;
  out[4 * i + 3] = a[i] / 1000;
}
