// what: a loop of fixed length under a condition of the thread
// threads: 64
// out: np.zeros(64, np.int32)
// expect: np.where(np.arange(64) % 3 == 0, 10 * np.arange(64), -np.arange(64))
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  int x = 0;
  if (i % 3 == 0) {
    for (int k = 0; k < 10; k++) x += i;
  } else {
    x = -int(i);
  }
  out[i] = x;
}
