// what: operation classes passed as types
// threads: 16
// out: np.zeros((16, 2), np.float32)
// in: rng.standard_normal((16, 4)).astype(np.float32)
// expect: np.stack([a.sum(1), a.max(1)], 1)
// tolerance: 1e-6
#include <metal_stdlib>
using namespace metal;

struct Add {
  static constexpr float start() { return 0; }
  float operator()(float x, float y) const { return x + y; }
};
struct Max {
  static constexpr float start() { return -INFINITY; }
  float operator()(float x, float y) const { return max(x, y); }
};
template <typename Op>
float reduce(device const float* values) {
  float result = Op::start();
  for (int k = 0; k < 4; k++) result = Op()(result, values[k]);
  return result;
}

kernel void test(device float2* out, device const float* a, uint i [[thread_position_in_grid]]) {
  out[i] = float2(reduce<Add>(a + 4 * i), reduce<Max>(a + 4 * i));
}
