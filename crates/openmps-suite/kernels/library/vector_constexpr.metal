// what: vectors in constant expressions
// out: np.zeros(1, np.int32)
// expect: [26]
#include <metal_stdlib>
using namespace metal;

constexpr int4 doubled = int4(1, 2, 3, 4) * 2;
static_assert(doubled.w == 8, "");
static_assert(doubled.zyx.x == 6, "");
static_assert((doubled + int4(1)).x == 3, "");
static_assert(float2(int2(3, 4)).y == 4.0f, "");
constant float4 weights[2] = {float4(1, 2, 3, 4), float4(5, 6, 7, 8)};

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  out[0] = int(weights[i].y) + int(weights[i + 1].w) + int(weights[1].zx.x) + 9;
}
