#include <metal_stdlib>
using namespace metal;
template <typename T> kernel void fill(device T* x, uint i [[thread_position_in_grid]]) { x[i] = T(1).y; }
#define INSTANTIATE(T) template [[host_name("fill_" #T)]] kernel void fill<T>(device T*, uint);
INSTANTIATE(float2)
INSTANTIATE(float)
