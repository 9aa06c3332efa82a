// what: a float4 may lie at any float, in device and in threadgroup memory
// threads: 8
// in: np.arange(45, dtype=np.float32)
// out: np.zeros(45, np.float32)
// expect: [0 if i % 5 == 4 or i >= 40 else 2 * i for i in range(45)]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* x, uint i [[thread_position_in_grid]]) {
  threadgroup float shared[64];
  *reinterpret_cast<threadgroup float4*>(shared + 5 * i) = *reinterpret_cast<device const float4*>(x + 5 * i);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  *(device float4*)(out + 5 * i) = 2.0f * *(threadgroup float4*)(shared + 5 * i);
}
