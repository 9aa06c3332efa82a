// what: bit fields pack and extend by sign
// threads: 16
// out: np.zeros((16, 3), np.int32)
// in: rng.integers(-2**31, 2**31, 16).astype(np.int32)
// expect: np.stack([a << 27 >> 27, (a >> 5) & 0x7ff, (a >> 16) & 0xffff], 1)
#include <metal_stdlib>
using namespace metal;

struct Fields {
  int low : 5;
  uint middle : 11;
  uint high : 16;
};

kernel void test(device packed_int3* out, device const int* a, uint i [[thread_position_in_grid]]) {
  Fields f = as_type<Fields>(a[i]);
  out[i] = int3(f.low, f.middle, f.high);
}
