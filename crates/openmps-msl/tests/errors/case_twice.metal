#include <metal_stdlib>
using namespace metal;
kernel void f(device int* x) {
  switch (x[0]) {
    case 1: x[1] = 1; break;
    case 1: x[1] = 2; break;
  }
}
