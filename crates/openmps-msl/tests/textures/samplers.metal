// Samplers: every option, in functions and at program scope, as values.
#include <metal_stdlib>
using namespace metal;

constexpr sampler plain;
constexpr sampler at_program_scope(coord::pixel, address::clamp_to_edge, filter::nearest);
constant constexpr sampler in_constant_memory(mip_filter::linear, lod_clamp(1.0f, 4.5f), max_anisotropy(8));

static float4 look(texture2d<float> t, sampler s, float2 p) { return t.sample(s, p); }
template <typename T>
T choose(bool first, T a, T b) { return first ? a : b; }
struct pair { sampler first, second; };

kernel void samplers(
    texture2d<float> t [[texture(0)]], sampler bound [[sampler(3)]], device float4* out [[buffer(0)]],
    uint i [[thread_position_in_grid]]) {
  constexpr sampler local(s_address::repeat, t_address::mirrored_repeat, r_address::clamp_to_zero, mag_filter::linear,
                          min_filter::nearest, mip_filter::nearest, compare_func::never);
  constexpr sampler border(address::clamp_to_border, border_color::opaque_white);
  const pair both = {local, bound};
  const float2 p(0.5f, float(i));
  out[i] = look(t, plain, p) + look(t, at_program_scope, p) + look(t, in_constant_memory, p) + look(t, both.first, p);
  out[i] += t.sample(choose(i > 2, border, both.second), p);
}
