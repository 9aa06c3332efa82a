// what: compensated summation is not simplified away by default
// out: np.zeros(1, np.float32)
// in: np.concatenate([[1e8], np.full(1000, 0.25)]).astype(np.float32)
// expect: [1e8 + 248]
// tolerance: 1e-7
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a) {
  float sum = a[0], lost = 0;
  for (int k = 1; k <= 1000; k++) {
    float y = a[k] - lost;
    float next = sum + y;
    lost = (next - sum) - y;
    sum = next;
  }
  out[0] = sum;
}
