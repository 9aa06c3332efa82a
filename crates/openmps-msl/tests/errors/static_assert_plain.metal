#include <metal_stdlib>
using namespace metal;
static_assert(sizeof(float3) == 12, "float3 is not packed");
kernel void f(device int* x) {}
