#include <metal_stdlib>
using namespace metal;
template <typename T> void check() { static_assert(is_floating_point_v<T>, "T must be a floating-point type"); }
template <typename T> kernel void f(device T* x) { check<T>(); }
template [[host_name("f_int")]] kernel void f<int>(device int*);
