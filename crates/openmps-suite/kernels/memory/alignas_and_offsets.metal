// what: alignas on a member moves those after it
// threads: 2
// out: np.zeros(2, np.float32)
// in: np.arange(16, dtype=np.float32)
// expect: [5, 13]
#include <metal_stdlib>
using namespace metal;

struct Spaced {
  float first;
  alignas(16) float second;
  float third;
};
static_assert(sizeof(Spaced) == 32 && alignof(Spaced) == 16, "");

kernel void test(device float* out, device const Spaced* a, uint i [[thread_position_in_grid]]) {
  out[i] = a[i].third;
}
