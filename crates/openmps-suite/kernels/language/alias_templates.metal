// what: using aliases and alias templates
// out: np.zeros(2, np.float32)
// expect: [3, 2]
#include <metal_stdlib>
using namespace metal;

template <typename T>
using pair_of = vec<T, 2>;
using real = float;

kernel void test(device float* out) {
  pair_of<real> p(1, 2);
  out[0] = p.x + p.y;
  out[1] = sizeof(pair_of<half>) / sizeof(half);
}
