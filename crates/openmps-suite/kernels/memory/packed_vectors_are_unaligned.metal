// what: packed_float4 after one float, at an address that is no multiple of 16
// threads: 4
// out: np.zeros((4, 4), np.float32)
// in: rng.standard_normal(20).astype(np.float32)
// expect: a.reshape(4, 5)[:, 1:] + a.reshape(4, 5)[:, :1]
#include <metal_stdlib>
using namespace metal;

struct Item {
  float bias;
  packed_float4 values;
};
static_assert(sizeof(Item) == 20, "");

kernel void test(device float4* out, device const Item* a, uint i [[thread_position_in_grid]]) {
  out[i] = float4(a[i].values) + a[i].bias;
}
