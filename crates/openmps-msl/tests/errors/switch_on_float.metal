#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x) {
  switch (x[0]) {
    case 1: x[1] = 1;
  }
}
