// what: a cyclic redundancy check, bit by bit
// threads: 4
// out: np.zeros(4, np.int32)
// in: rng.integers(0, 256, 64).astype(np.uint8)
// expect: np.array([__import__("zlib").crc32(a[16 * t:16 * t + 16].tobytes()) for t in range(4)], np.uint32).view(np.int32)
#include <metal_stdlib>
using namespace metal;

kernel void test(device uint* out, device const uchar* a, uint i [[thread_position_in_grid]]) {
  uint crc = ~0u;
  for (uint k = 0; k < 16; k++) {
    crc ^= a[16 * i + k];
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  out[i] = ~crc;
}
