// what: thread_elements are two neighbours in a row; half operands accumulate in float
// threads: 32
// out: np.zeros((8, 8), np.float32)
// expect: np.eye(8) * 3 + 1
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out) {
  simdgroup_half8x8 three(3.0h), one(1.0h);
  simdgroup_float8x8 sum(0.0f);
  simdgroup_multiply_accumulate(sum, three, one, sum);
  thread auto& elements = sum.thread_elements();
  elements[0] += 1;
  elements[1] += 1;
  simdgroup_store(sum, out, 8);
}
