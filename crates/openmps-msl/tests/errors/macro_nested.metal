#include <metal_stdlib>
using namespace metal;
#define INNER(a) (a + undefined_value)
#define OUTER(a) (2.0 * INNER(a))
kernel void f(device float* x) {
  x[0] = 1.5 + OUTER(x[1]);
}
