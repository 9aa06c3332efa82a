// what: comparing int with uint converts the int, as C++ does
// threads: 4
// out: np.zeros(4, np.int32)
// in: np.array([-1, 5, 0, -2**31], np.int32)
// expect: [0, 1, 1, 0]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  uint ten = 10 + i * 0;
  out[i] = a[i] < ten;
}
