// what: pointers advanced, subtracted and compared
// threads: 16
// out: np.zeros(16, np.int32)
// in: rng.integers(0, 9, 64).astype(np.int32)
// expect: a.reshape(16, 4).sum(1) * 4
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  device const int* p = a + 4 * i;
  device const int* end = p + 4;
  int length = int(end - p), sum = 0;
  while (p != end) sum += *p++;
  out[i] = sum * length;
}
