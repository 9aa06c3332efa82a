// what: arrays of char, half, float4 and structs side by side
// threads: 32
// group: 32
// out: np.zeros((32, 4), np.float32)
// expect: [[31 - t, (31 - t) / 2, (31 - t) * 3, 31 - t + 0.25] for t in range(32)]
#include <metal_stdlib>
using namespace metal;

struct Two {
  short x;
  float y;
};

kernel void test(device float4* out, uint i [[thread_position_in_grid]]) {
  threadgroup char bytes[32];
  threadgroup half halves[32];
  threadgroup float4 vectors[32];
  threadgroup Two structs[32];
  bytes[i] = i;
  halves[i] = i * 0.5h;
  vectors[i] = float4(i) * 3;
  structs[i].y = i + 0.25f;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  uint k = 31 - i;
  out[i] = float4(bytes[k], halves[k], vectors[k].z, structs[k].y);
}
