#include <metal_stdlib>
using namespace metal;
vertex float4 v(device float4* x [[buffer(0)]], uint i [[vertex_id]]) {
  return x[i];
}
