#include <metal_stdlib>
using namespace metal;
#include "my_kernels.h"
kernel void f(device int* x) {}
