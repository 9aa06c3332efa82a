// what: clz, ctz, popcount, reverse_bits, rotate, extract_bits, insert_bits
// out: np.zeros(12, np.int32)
// expect: [27, 32, 4, 32, 3, 128, -2147483648, 0x34567812, 0x56, -2, 0x1fff, 15]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  uint x = i + 16;
  out[0] = clz(x);
  out[1] = clz(x - 16);
  out[2] = ctz(x);
  out[3] = ctz(x - 16);
  out[4] = popcount(x + 3);
  out[5] = reverse_bits(uchar(i + 1));
  out[6] = int(reverse_bits(i + 1));
  out[7] = int(rotate(i + 0x12345678u, 8u));
  out[8] = int(extract_bits(i + 0x12345678u, 8, 8));
  out[9] = extract_bits(int(i) + 0xe0, 4, 4);
  out[10] = insert_bits(int(i) + 0x10ff, 0xff, 4, 8);
  out[11] = clz(ushort(i + 1));
}
