#include <metal_stdlib>
using namespace metal;
template <typename T> kernel void f(device T* x) { x[0] = 1; }
template [[host_name("f_float")]] kernel void f<float>(device int*);
