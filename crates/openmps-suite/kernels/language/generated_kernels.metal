// what: a kernel made by a macro, called by its own name
// threads: 4
// out: np.zeros(4, np.float32)
// in: np.array([1, 4, 9, 16], np.float32)
// expect: [1, 2, 3, 4]
#include <metal_stdlib>
using namespace metal;

#define UNARY(name, expression)                                                          \
  kernel void name(device float* out, device const float* in, uint i [[thread_position_in_grid]]) { \
    float x = in[i];                                                                     \
    out[i] = expression;                                                                 \
  }

UNARY(test, sqrt(x))
UNARY(other, x + 1)
