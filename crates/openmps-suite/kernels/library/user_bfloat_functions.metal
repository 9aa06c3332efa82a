// what: kernels add bfloat math and SIMD functions beside the library's
// threads: 32
// out: np.zeros((32, 3), np.float32)
// expect: np.tile([2, 31, 1], (32, 1))
#include <metal_stdlib>

namespace metal {
bfloat exp2(bfloat x) { return bfloat(exp2(float(x))); }
bfloat simd_max(bfloat x) { return bfloat(simd_max(float(x))); }
bool isnan(bfloat x) { return x != x; }
long simd_sum(long x) { return long(simd_sum(int(x))); }
} // namespace metal
using namespace metal;

kernel void test(device float* out, uint i [[thread_position_in_grid]]) {
  out[3 * i + 0] = exp2(bfloat(1));
  out[3 * i + 1] = simd_max(bfloat(i));
  out[3 * i + 2] = isnan(bfloat(NAN)) && simd_sum(long(i)) == 496;
}
