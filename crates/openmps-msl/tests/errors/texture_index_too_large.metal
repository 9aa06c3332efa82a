// Metal has 128 textures and 16 samplers for a kernel.
#include <metal_stdlib>
using namespace metal;
kernel void f(array<texture2d<float>, 4> x [[texture(126)]], sampler s [[sampler(16)]]) {}
