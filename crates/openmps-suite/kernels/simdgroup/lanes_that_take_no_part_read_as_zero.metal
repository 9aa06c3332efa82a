// what: a shuffle or fill shuffle that names a lane which takes no part gives zero; sums of long fold eight lanes by it
// threads: 64
// group: 64
// out: np.zeros((64, 4), np.int64)
// expect: (lambda i, a: np.where(a[:, None], np.stack([np.full(64, 36), np.where(i % 32 < 7, i % 32 + 2, 0), np.where(i % 32 >= 1, i % 32, 1), 0 * i], 1), 0))(np.arange(64), np.arange(64) % 32 < 8)
#include <metal_stdlib>
using namespace metal;

kernel void test(device long* out, uint i [[thread_position_in_grid]], ushort lane [[thread_index_in_simdgroup]]) {
  if (lane < 8) {
    long sum = lane + 1;
    for (ushort delta = 16; delta > 0; delta /= 2) {
      sum += as_type<long>(simd_shuffle_and_fill_down(as_type<int2>(sum), int2(0), delta));
    }
    out[4 * i + 0] = as_type<long>(simd_broadcast(as_type<int2>(sum), 0));
    out[4 * i + 1] = simd_shuffle_down(int(lane + 1), 1);
    out[4 * i + 2] = simd_shuffle_up(int(lane + 1), 1);
    out[4 * i + 3] = simd_shuffle(int(lane + 1), 20);
  }
}
