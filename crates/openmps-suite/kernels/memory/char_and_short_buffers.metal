// what: 8 and 16-bit loads and stores of neighbours do not disturb each other
// threads: 100
// out: np.zeros(100, np.int8)
// in: rng.integers(-2**15, 2**15, 100).astype(np.int16)
// expect: (a >> 8).astype(np.int8)
#include <metal_stdlib>
using namespace metal;

kernel void test(device char* out, device const short* a, uint i [[thread_position_in_grid]]) {
  out[i] = a[i] >> 8;
}
