// what: templates deduced from scalars and vectors
// threads: 8
// out: np.zeros((8, 2), np.float32)
// expect: [[t * t, (t + 1) ** 2 * 2] for t in range(8)]
#include <metal_stdlib>
using namespace metal;

template <typename T>
T square(T x) {
  return x * x;
}

kernel void test(device float2* out, uint i [[thread_position_in_grid]]) {
  out[i] = float2(square(i), dot(square(float2(i + 1)), float2(1)));
}
