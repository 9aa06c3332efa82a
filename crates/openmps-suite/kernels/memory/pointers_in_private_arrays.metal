// what: an array of device pointers, picked by index
// threads: 30
// out: np.zeros(30, np.int32)
// in: rng.integers(0, 9, 30).astype(np.int32)
// in: rng.integers(10, 19, 30).astype(np.int32)
// in: rng.integers(20, 29, 30).astype(np.int32)
// expect: np.stack([a, b, c])[np.arange(30) % 3, np.arange(30)]
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    device const int* a,
    device const int* b,
    device const int* c,
    uint i [[thread_position_in_grid]]) {
  device const int* sources[3] = {a, b, c};
  out[i] = sources[i % 3][i];
}
