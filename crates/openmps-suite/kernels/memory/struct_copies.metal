// what: whole structs copied between address spaces
// threads: 8
// out: np.zeros(32, np.int32)
// in: rng.integers(0, 100, 32).astype(np.int32)
// expect: a.reshape(8, 4)[:, [0, 2, 1, 3]].ravel()
#include <metal_stdlib>
using namespace metal;

struct Packed {
  int values[4];
};

kernel void test(device Packed* out, device const Packed* a, uint i [[thread_position_in_grid]]) {
  Packed local = a[i];
  int kept = local.values[1];
  local.values[1] = local.values[2];
  local.values[2] = kept;
  out[i] = local;
}
