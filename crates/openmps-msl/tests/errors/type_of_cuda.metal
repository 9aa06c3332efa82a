#include <metal_stdlib>
using namespace metal;
__global__ void f(float* x) {
  x[threadIdx.x] = 1;
}
