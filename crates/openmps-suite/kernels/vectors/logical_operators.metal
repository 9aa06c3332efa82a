// what: &&, || and ! on bool vectors act by component
// threads: 4
// out: np.zeros((4, 2), np.int32)
// expect: [[1, 0], [1, 1], [1, 0], [0, 0]]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int2* out, uint i [[thread_position_in_grid]]) {
  bool2 p = bool2(i & 1, i & 2), q = bool2(i < 2, i == 1);
  out[i] = int2((p && q) || (!p && bool2(i != 3, false)) || bool2(false, i == 1));
}
