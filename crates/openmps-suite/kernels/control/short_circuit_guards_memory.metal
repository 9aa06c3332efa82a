// what: && and || do not evaluate what they skip
// threads: 16
// out: np.zeros(16, np.int32)
// in: rng.integers(0, 9, 8).astype(np.int32)
// expect: np.concatenate([a > 4, np.zeros(8)])
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  device const int* p = i < 8 ? a + i : nullptr;
  out[i] = p != nullptr && *p > 4;
}
