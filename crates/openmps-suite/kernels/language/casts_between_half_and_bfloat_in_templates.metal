// what: T(x) and (T)x where T and x turn out to be half and bfloat
// in: np.array([1.5, -2.25, 1000, 0.1], np.float16)
// out: np.zeros(8, np.float32)
// expect: [1.5, -2.25, 1000, 0.10009765625, 3, -4.5, 2000, 0.2001953125]
// threads: 4
#include <metal_stdlib>
using namespace metal;

template <typename To, typename From>
To twice(From x) {
  using same = To;
  To once = To(x);
  return once + (same)x;
}

kernel void test(device float* out, device const half* x, uint i [[thread_position_in_grid]]) {
  bfloat b = bfloat(x[i]);
  out[i] = float(b);
  out[4 + i] = float(twice<bfloat>(half(b)));
}
