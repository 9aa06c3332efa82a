// what: attention of one query a thread with a running maximum and sum
// threads: 12
// out: np.zeros((12, 4), np.float32)
// in: rng.standard_normal((12, 4)).astype(np.float32)
// in: rng.standard_normal((30, 4)).astype(np.float32)
// in: rng.standard_normal((30, 4)).astype(np.float32)
// let: w = np.exp(a @ b.T / 2)
// expect: w @ c / w.sum(1, keepdims=True)
// tolerance: 1e-5
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float4* out,
    device const float4* a,
    device const float4* b,
    device const float4* c,
    uint i [[thread_position_in_grid]]) {
  float largest = -INFINITY, sum = 0;
  float4 result = 0;
  for (int k = 0; k < 30; k++) {
    float score = dot(a[i], b[k]) * 0.5f;
    float next = max(largest, score);
    float correction = exp(largest - next), weight = exp(score - next);
    sum = sum * correction + weight;
    result = result * correction + weight * c[k];
    largest = next;
  }
  out[i] = result / sum;
}
