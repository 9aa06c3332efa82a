// what: the Walsh-Hadamard transform by shuffles
// threads: 32
// out: np.zeros(32, np.float32)
// in: rng.integers(-9, 9, 32).astype(np.float32)
// let: h = np.array([[(-1) ** bin(r & c).count("1") for c in range(32)] for r in range(32)])
// expect: h @ a
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a, uint i [[thread_position_in_grid]]) {
  float x = a[i];
  for (ushort mask = 1; mask < 32; mask *= 2) {
    float other = simd_shuffle_xor(x, mask);
    x = i & mask ? other - x : x + other;
  }
  out[i] = x;
}
