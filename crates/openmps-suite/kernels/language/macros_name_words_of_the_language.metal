// what: macros that stand for kernel, device and threadgroup, and macro calls without semicolons
// threads: 32
// in: np.arange(32, dtype=np.float32)
// out: np.zeros(32, np.float32)
// expect: a[::-1] + 1
#include <metal_stdlib>
using namespace metal;

#define ENTRY kernel
#define GLOBAL device
#define SHARED threadgroup
#define STAGE(name, value) \
  SHARED float name[32];   \
  name[lane] = value;
#define DEFINE(name, value) \
  float name() { return value; }

DEFINE(one, 1)
template <typename T>
ENTRY void reverse(GLOBAL T* out, GLOBAL const T* x, uint lane [[thread_position_in_threadgroup]]) {
  STAGE(first, x[lane])
  STAGE(second, one())
  SHARED T third[32];
  third[lane] = first[lane] + second[lane];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[lane] = third[31 - lane];
}
template [[host_name("test")]] ENTRY void reverse<float>(GLOBAL float*, GLOBAL const float*, uint);
