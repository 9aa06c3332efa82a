// Depth textures: samples, comparisons, gathers.
#include <metal_stdlib>
using namespace metal;

kernel void depths(
    depth2d<float> a [[texture(0)]], depth2d_array<float> b [[texture(1)]], depthcube<float> c [[texture(2)]],
    depthcube_array<float, access::read> d [[texture(3)]], sampler s [[sampler(0)]], device float4* out [[buffer(0)]],
    uint2 at [[thread_position_in_grid]]) {
  constexpr sampler compares(compare_func::less_equal, filter::linear);
  const float2 p = float2(at);
  float sum = a.sample(s, p) + a.read(at) + a.sample_compare(compares, p, 0.5f) + a.sample_compare(compares, p, 0.5f, level(1), int2(1));
  sum += a.sample_compare(compares, p, 0.5f, gradient2d(p, p)) + a.sample(s, p, gradient2d(p, p));
  sum += b.sample(s, p, 1) + b.read(at, 1, 0) + b.sample_compare(compares, p, 1, 0.25f) + c.sample(s, float3(p, 1), level(0));
  sum += c.sample_compare(compares, float3(p, 1), 0.5f) + c.read(at, 3) + d.read(at, 2, 1);
  out[0] = sum + a.gather(s, p) + a.gather_compare(compares, p, 0.5f) + b.gather(s, p, 1) + c.gather_compare(compares, float3(p, 1), 0.1f);
  out[1] = float4(a.get_width(), b.get_array_size(), c.get_num_mip_levels(), d.get_height());
}
