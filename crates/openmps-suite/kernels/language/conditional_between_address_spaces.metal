// what: operands of ?: in different address spaces, also behind casts, calls and stars
// threads: 8
// in: np.arange(32, dtype=np.float32)
// out: np.zeros(32, np.float32)
// expect: [v for i in range(8) for v in ([i * 4, i * 4 + 1, i * 4 + 2, i * 4 + 3] if i % 2 else [-1] * 4)]
#include <metal_stdlib>
using namespace metal;

device const float4* at(device const float* x, uint i) { return reinterpret_cast<device const float4*>(x) + i; }

kernel void test(device float4* out, device const float* x, uint i [[thread_position_in_grid]]) {
  const bool is_odd = i & 1;
  thread float4 other = float4(-1);
  switch (i & 6) {
    case 0: out[i] = is_odd ? *reinterpret_cast<device const float4*>(x + 4 * i) : float4(-1); break;
    case 2: out[i] = is_odd ? *(device const float4*)(x + 4 * i) : other; break;
    case 4: out[i] = !is_odd ? other : at(x, 0)[i]; break;
    default: out[i] = is_odd ? *at(x, i) : float4(-1);
  }
}
