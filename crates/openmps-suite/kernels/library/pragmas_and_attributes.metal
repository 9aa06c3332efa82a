// what: loop pragmas, float pragmas and function attributes are accepted
// threads: 4
// out: np.zeros(4, np.float32)
// expect: [0, 10, 20, 30]
#include <metal_stdlib>
#pragma METAL fp math_mode(safe)
using namespace metal;

METAL_FUNC float scaled(float x) { return x * 10; }
[[gnu::always_inline]] inline float same(float x) { return x; }

[[kernel, max_total_threads_per_threadgroup(64)]] void test(
    device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  float s = 0;
#pragma clang loop unroll(full)
  for (int k = 0; k < 10; k++) s += same(i);
  _Pragma("unroll") for (int k = 0; k < 2; k++) s += 0;
  out[i] = s == scaled(i) ? s : -1;
}
