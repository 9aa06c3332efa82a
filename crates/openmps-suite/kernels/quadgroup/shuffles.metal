// what: quad_shuffle, quad_shuffle_xor and quad_broadcast
// threads: 32
// out: np.zeros((32, 3), np.int32)
// in: rng.integers(0, 99, 32).astype(np.int32)
// let: q = a.reshape(8, 4)
// expect: np.stack([q[:, [3, 2, 1, 0]], q[:, [1, 0, 3, 2]], np.repeat(q[:, 2:3], 4, 1)], 2).reshape(32, 3)
#include <metal_stdlib>
using namespace metal;

kernel void test(device packed_int3* out, device const int* a, uint i [[thread_position_in_grid]]) {
  ushort lane = i % 4;
  out[i] = int3(quad_shuffle(a[i], ushort(3 - lane)), quad_shuffle_xor(a[i], 1), quad_broadcast(a[i], 2));
}
