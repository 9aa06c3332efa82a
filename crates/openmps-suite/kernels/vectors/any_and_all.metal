// what: any and all of bool vectors of each width
// threads: 8
// out: np.zeros(48, np.int32)
// let: bits = np.arange(8)
// let: v = np.stack([bits & 1, bits >> 1 & 1, bits >> 2 & 1], 1)
// let: two = np.stack([v[:, :2].any(1), v[:, :2].all(1)], 1)
// let: three = np.stack([v.any(1), v.all(1)], 1)
// let: four = np.stack([np.ones(8), v.all(1)], 1)
// expect: np.concatenate([two, three, four], 1).ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  bool3 v = bool3(i & 1, i & 2, i & 4);
  out[6 * i] = any(v.xy);
  out[6 * i + 1] = all(v.xy);
  out[6 * i + 2] = any(v);
  out[6 * i + 3] = all(v);
  out[6 * i + 4] = any(bool4(v, true));
  out[6 * i + 5] = all(bool4(v, true));
}
