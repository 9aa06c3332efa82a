// what: literals with suffix h, and that unsuffixed literals are float
// out: np.zeros(4, np.float32)
// expect: [1.5, 0.0999755859375, 1, 1]
#include <metal_stdlib>
using namespace metal;

static int kind(half) { return 0; }
static int kind(float) { return 1; }

kernel void test(device float* out) {
  out[0] = 1.5h;
  out[1] = 0.1h;
  out[2] = kind(0.1);
  out[3] = kind(0.5f + 1.0h);
}
