// what: an 8 x 4 block transposed inside registers
// threads: 32
// out: np.zeros(32, np.int32)
// in: rng.integers(0, 99, 32).astype(np.int32)
// expect: a.reshape(4, 8).T.ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  out[i] = simd_shuffle(a[i], ushort(i % 4 * 8 + i / 4));
}
