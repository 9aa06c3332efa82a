// The access of a texture type says what the kernel may do.
#include <metal_stdlib>
using namespace metal;
kernel void f(texture2d<float> x, texture2d<float, access::write> y, uint2 at [[thread_position_in_grid]]) {
  x.write(y.read(at), at);
}
