// what: arrays of structs with arrays, indexed at run time
// threads: 12
// out: np.zeros(12, np.int32)
// in: np.arange(24, dtype=np.int32)
// expect: [a[(t % 2) * 12 + (t // 2 % 3) * 4 + 2 + t // 6] for t in range(12)]
#include <metal_stdlib>
using namespace metal;

struct Inner {
  int head[2];
  int tail[2];
};
struct Outer {
  Inner parts[3];
};

kernel void test(device int* out, device const Outer* a, uint i [[thread_position_in_grid]]) {
  out[i] = a[i % 2].parts[i / 2 % 3].tail[i / 6];
}
