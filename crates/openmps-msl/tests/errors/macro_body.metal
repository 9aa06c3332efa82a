#include <metal_stdlib>
using namespace metal;
#define STORE(p, v)  \
  do {               \
    p[0] = v;        \
    p[1] = missing;  \
  } while (0)
kernel void f(device float* x) {
  STORE(x, 2.0);
}
