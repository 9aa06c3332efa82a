// what: parameters in one constant struct
// threads: 16
// out: np.zeros(16, np.float32)
// in: np.array([2.0, 3.0, 0.5, 0], np.float32)
// expect: np.arange(16) * 2 + 3 - 0.5
#include <metal_stdlib>
using namespace metal;

struct Parameters {
  float scale, plus, minus;
};

kernel void test(device float* out, constant Parameters& p, uint i [[thread_position_in_grid]]) {
  out[i] = i * p.scale + p.plus - p.minus;
}
