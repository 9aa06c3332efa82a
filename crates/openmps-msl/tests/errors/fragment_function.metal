#include <metal_stdlib>
using namespace metal;
fragment float4 v() {
  return float4(1);
}
