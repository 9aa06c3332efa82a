// what: a braced list with fewer scalars than components fills with zero, a constructor's single operand repeats
// threads: 3
// out: np.zeros(24, np.float32)
// expect: [1,0,0,0, 2,2,2,2, 3,4,0,0, 5,0,0,0, 6,7,8,0, 0,0,0,0]
#include <metal_stdlib>
using namespace metal;

constant float4 table[3] = {{1}, float4(2), {3, 4}};

struct pair {
  float3 first;
  float second;
};

template <typename T>
vec<T, 4> first_only(T x) {
  return {x};
}

kernel void test(device float4* out, uint i [[thread_position_in_grid]]) {
  out[i] = table[i];
  if (i != 0) return;
  out[3] = first_only(5.0f * (i + 1));
  pair p = {{6.0f, 7.0f + i, 8.0f}};
  out[4] = float4(p.first, p.second);
  float2 none = {};
  constexpr float2 zero{};
  out[5] = float4(none, zero);
}
