#include <metal_stdlib>
using namespace metal;

kernel void flip(texture2d<float, access::read> image [[texture(0)]], texture2d<float, access::write> out [[texture(1)]],
                 uint2 place [[thread_position_in_grid]]) {
  out.write(image.read(uint2(image.get_width() - 1 - place.x, place.y)), place);
}

kernel void halve(texture2d<float> image [[texture(0)]], sampler smooth [[sampler(0)]], device float4* out [[buffer(0)]],
                  uint2 place [[thread_position_in_grid]]) {
  out[place.y * 2 + place.x] = image.sample(smooth, (float2(place) + 0.5f) / 2.0f);
}
