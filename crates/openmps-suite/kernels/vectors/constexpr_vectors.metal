// what: vectors in constant expressions and as program-scope constants
// out: np.zeros(4, np.float32)
// expect: [0.25, 0.5, 0.75, 3]
#include <metal_stdlib>
using namespace metal;

constant float3 weights = float3(0.25, 0.5, 0.75);
constexpr constant int2 size = int2(1, 2);

kernel void test(device float* out) {
  out[0] = weights.x;
  out[1] = weights.y;
  out[2] = weights.z;
  out[3] = size.x + size.y;
}
