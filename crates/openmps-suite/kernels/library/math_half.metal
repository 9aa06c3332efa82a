// what: half functions compute in half precision
// threads: 32
// out: np.zeros((32, 4), np.float16)
// in: np.linspace(0.1, 3, 32).astype(np.float16)
// expect: (lambda x: np.stack([np.exp(x), np.sin(x), np.sqrt(x), np.log(x)], 1))(a.astype(np.float32))
// tolerance: 2e-3
#include <metal_stdlib>
using namespace metal;

kernel void test(device half* out, device const half* in, uint i [[thread_position_in_grid]]) {
  half x = in[i];
  out[4 * i + 0] = exp(x);
  out[4 * i + 1] = sin(x);
  out[4 * i + 2] = sqrt(x);
  out[4 * i + 3] = log(x);
}
