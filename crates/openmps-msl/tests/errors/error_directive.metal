#include <metal_stdlib>
using namespace metal;
#if __METAL_VERSION__ < 900
#error this kernel needs Metal 9
#endif
kernel void f(device int* x) {}
