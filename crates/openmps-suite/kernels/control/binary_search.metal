// what: a search whose halves differ between threads
// threads: 100
// out: np.zeros(100, np.int32)
// in: np.sort(rng.integers(0, 1000, 257)).astype(np.int32)
// in: rng.integers(-10, 1010, 100).astype(np.int32)
// expect: np.searchsorted(a, b, "left")
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    device const int* a,
    device const int* b,
    uint i [[thread_position_in_grid]]) {
  int low = 0, high = 257;
  while (low < high) {
    int middle = (low + high) / 2;
    if (a[middle] < b[i])
      low = middle + 1;
    else
      high = middle;
  }
  out[i] = low;
}
