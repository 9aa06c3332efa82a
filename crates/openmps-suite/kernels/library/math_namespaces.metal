// what: precise and fast namespaces, and masks that rely on fast::exp(-inf) = 0
// out: np.zeros(5, np.float32)
// in: np.array([-np.inf, 0.75], np.float32)
// expect: [0, np.exp(0.75), np.exp(0.75), np.tanh(0.75), 0.75]
// tolerance: 1e-5
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* in) {
  out[0] = fast::exp(in[0]);
  out[1] = fast::exp(in[1]);
  out[2] = precise::exp(in[1]);
  out[3] = metal::fast::tanh(in[1]);
  out[4] = fast::max(in[0], in[1]);
}
