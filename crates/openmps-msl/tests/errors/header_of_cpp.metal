#include <metal_stdlib>
using namespace metal;
#include <vector>
kernel void f(device int* x) {}
