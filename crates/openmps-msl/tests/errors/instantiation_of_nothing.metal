#include <metal_stdlib>
using namespace metal;
template [[host_name("g_float")]] kernel void g<float>(device float*);
