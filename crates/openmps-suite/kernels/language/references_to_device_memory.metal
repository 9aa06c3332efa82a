// what: references into buffers as locals and arguments
// threads: 8
// out: np.zeros(8, np.int32)
// in: np.arange(8, dtype=np.int32)
// expect: np.arange(8) * 2 + 1
#include <metal_stdlib>
using namespace metal;

void set(device int& place, int value) {
  place = value;
}

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  device const int& x = a[i];
  set(out[i], 2 * x + 1);
}
