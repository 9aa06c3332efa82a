// what: min, max, clamp, abs on signed and unsigned integers of all widths
// out: np.zeros(10, np.int32)
// expect: [-5, -1, 3, 5, 127, 200, 7, 1, 3, 9]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  int z = int(i);
  out[0] = min(z - 5, 3);
  out[1] = int(max(uint(z - 1), 3u));
  out[2] = max(z - 5, 3);
  out[3] = abs(z - 5);
  out[4] = min(char(127), char(z + 127));
  out[5] = max(uchar(200), uchar(z + 100));
  out[6] = clamp(z + 9, 1, 7);
  out[7] = int(clamp(long(z), 1l, 7l));
  out[8] = median3(z + 9, 3, 1);
  out[9] = max(int2(z, 9), int2(4)).y;
}
