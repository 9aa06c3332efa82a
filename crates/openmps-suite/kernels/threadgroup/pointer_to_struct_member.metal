// what: threadgroup pointers to members of a shared struct
// threads: 32
// group: 32
// out: np.zeros(32, np.int32)
// expect: [(t + 1) % 32 * 2 + (t + 2) % 32 for t in range(32)]
#include <metal_stdlib>
using namespace metal;

struct Shared {
  int doubled[32];
  int plain[32];
};

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  threadgroup Shared shared;
  threadgroup int* doubled = shared.doubled;
  threadgroup int& mine = shared.plain[i];
  doubled[i] = 2 * i;
  mine = i;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = doubled[(i + 1) % 32] + shared.plain[(i + 2) % 32];
}
