// what: thread_elements changed in place
// threads: 32
// out: np.zeros((8, 8), np.float32)
// in: rng.standard_normal((8, 8)).astype(np.float32)
// expect: np.maximum(a, 0)
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a) {
  simdgroup_float8x8 m;
  simdgroup_load(m, a, 8);
  m.thread_elements()[0] = max(m.thread_elements()[0], 0.0f);
  m.thread_elements()[1] = max(m.thread_elements()[1], 0.0f);
  simdgroup_store(m, out, 8);
}
