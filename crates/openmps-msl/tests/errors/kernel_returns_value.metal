#include <metal_stdlib>
using namespace metal;
kernel float f(device float* x) {
  return x[0];
}
