#include <metal_stdlib>
using namespace metal;

constant bool use_bias [[function_constant(0)]];
constant int width [[function_constant(1)]];
constant bool has_width = is_function_constant_defined(width) && width > 0;
constant float3x3 turn = float3x3(float3(0, 1, 0), float3(1, 0, 0), float3(0, 0, 1));

#pragma METAL fp contract(off)
#define BUFFER(n) [[buffer(n)]]
#define LOAD(p, i) (half)(p)[i]

template <typename F>
float twice(F f, float x) {
  return f(f(x));
}

[[kernel, max_total_threads_per_threadgroup(128)]] void lambdas(
    device half* out BUFFER(0), device const float* in BUFFER(1),
    device const float* bias [[buffer(2), function_constant(use_bias)]], uint3 gid [[thread_position_in_grid]],
    uint3 grid [[threads_per_grid]]) {
  const uint i = gid.x + gid.y * grid.x;
  auto half_of = [&](float x) { return x * 0.5 + (has_width ? width : 0); };
  float value = twice(half_of, in[i]);
  if (use_bias)
    value += bias[i];
  float3 turned = turn * float3(value, 1, 2);
  out[i] = LOAD(in, i) + half(turned.y) + 1.5h + (half)bfloat(value);
  switch (i) {
  case 0: {
    threadgroup int seen;
    seen = 1;
    out[i] += half(seen);
    break;
  }
  default:
    break;
  }
}
