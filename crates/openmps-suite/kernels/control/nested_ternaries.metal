// what: ?: inside ?:
// threads: 30
// out: np.zeros(30, np.float32)
// expect: [t * 2 if t < 10 else (t / 2 if t < 20 else -t) for t in range(30)]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, uint i [[thread_position_in_grid]]) {
  float x = i;
  out[i] = i < 10 ? x * 2 : i < 20 ? x / 2 : -x;
}
