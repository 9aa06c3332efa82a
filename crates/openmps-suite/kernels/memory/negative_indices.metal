// what: a pointer into the middle, indexed backwards
// threads: 16
// out: np.zeros(16, np.int32)
// in: np.arange(16, dtype=np.int32)
// expect: np.arange(16)[::-1]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  device const int* last = a + 15;
  out[i] = last[-int(i)];
}
