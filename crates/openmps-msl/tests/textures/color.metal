// Every texture type: reads, writes, samples, gathers, sizes, atomics; arguments with and without indices, arrays of textures.
#include <metal_stdlib>
#include <metal_texture>
using namespace metal;

kernel void lines(
    texture1d<float> a, texture1d<half, access::write> b [[texture(5)]], texture1d_array<int, access::read> c,
    texture1d_array<ushort, access::read_write> d, texture_buffer<float> e, texture_buffer<uint, access::read_write> f,
    sampler s [[sampler(2)]], device float4* out, uint i [[thread_position_in_grid]]) {
  out[i] = a.sample(s, float(i)) + a.sample(s, 0.5f, level(0)) + a.sample(s, 0.5f, 1) + a.read(i) + e.read(i);
  b.write(half4(out[i]), i);
  b.write(half4(1.0h), ushort(i), 0);
  d.write(ushort4(c.read(i, 1)), i, 2);
  d.fence();
  d.write(d.read(i, 2, 0), i, 1);
  f.write(uint4(f.get_width(), a.get_width(), a.get_num_mip_levels(), c.get_array_size()), i);
  f.atomic_fetch_add(i, uint4(1));
}

kernel void planes(
    texture2d<float> a [[texture(0)]], texture2d<half, access::read_write> b [[texture(1)]],
    texture2d_array<uint> c [[texture(2)]], texture2d_array<short, access::write> d [[texture(3)]],
    array<texture2d<float>, 4> many [[texture(4)]], array<sampler, 2> samplers [[sampler(0)]],
    texture2d<int, access::read_write> e [[texture(8)]], device float4* out [[buffer(0)]],
    uint2 at [[thread_position_in_grid]], ushort2 small [[thread_position_in_threadgroup]]) {
  const float2 p = float2(at) / float2(a.get_width(), a.get_height());
  float4 sum = a.sample(samplers[0], p) + a.sample(samplers[at.x & 1], p, int2(1, -1)) + a.sample(samplers[1], p, bias(1), int2(1));
  sum += a.sample(samplers[0], p, level(1), int2(0)) + a.sample(samplers[0], p, gradient2d(p, p), min_lod_clamp(1.5f));
  sum += a.gather(samplers[0], p) + a.gather(samplers[0], p, int2(1), component::w) + a.read(at) + a.read(small, 1);
  for (uint i = 0; i < many.size(); ++i) sum += many[i].sample(samplers[i & 1], p);
  b.write(half4(sum) + b.read(at) + b.read(small), at);
  b.write(half4(sum), small, 0);
  uint4 bits = c.read(at, 1) + c.read(small, ushort(1), ushort(0)) + c.sample(samplers[0], p, 1) + c.gather(samplers[0], p, 0);
  d.write(short4(bits), at, c.get_array_size() - 1);
  int4 expected = e.atomic_load(at);
  if (e.atomic_compare_exchange_weak(at, &expected, int4(at.x)) && !is_null_texture(c))
    out[0] = float4(e.atomic_exchange(at, int4(2)) + e.atomic_fetch_min(at, int4(-1)) + e.atomic_fetch_or(at, int4(4)));
  e.atomic_store(int4(0), at);
}

kernel void volumes(
    texture3d<float> a [[texture(0)]], texture3d<uint, access::write> b [[texture(1)]],
    texturecube<half> c [[texture(2)]], texturecube_array<float, access::read> d [[texture(3)]],
    texturecube_array<float> e [[texture(4)]], texturecube<float, access::write> f [[texture(5)]], sampler s,
    uint3 at [[thread_position_in_grid]]) {
  const float3 p = float3(at);
  float4 sum = a.sample(s, p) + a.sample(s, p, int3(1)) + a.sample(s, p, gradient3d(p, p)) + a.read(at, 1);
  sum += float4(c.sample(s, p)) + float4(c.gather(s, p, component::y)) + float4(c.read(at.xy, at.z)) + d.read(at.xy, 1, 2, 0);
  sum += e.sample(s, p, 1) + e.sample(s, p, 1, level(2)) + e.gather(s, p, 1);
  b.write(uint4(sum), at);
  b.write(uint4(a.get_depth()), ushort3(at), 1);
  f.write(sum, at.xy, 5);
}
