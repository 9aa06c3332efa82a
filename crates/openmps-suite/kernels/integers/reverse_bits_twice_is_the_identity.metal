// what: reverse_bits, and its own inverse
// threads: 64
// out: np.zeros(128, np.int32)
// in: rng.integers(0, 2**31, 64).astype(np.int32)
// expect: np.array([[int(f"{x:032b}"[::-1], 2), x] for x in a.tolist()], np.uint32).view(np.int32).ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(device uint* out, device const uint* a, uint i [[thread_position_in_grid]]) {
  uint reversed = reverse_bits(a[i]);
  out[2 * i] = reversed;
  out[2 * i + 1] = reverse_bits(reversed);
}
