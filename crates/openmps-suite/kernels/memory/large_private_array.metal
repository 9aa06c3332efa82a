// what: four kilobytes of private memory in each thread
// threads: 64
// group: 64
// out: np.zeros(64, np.int32)
// expect: [sum((k * (t + 1)) % 1024 == 0 for k in range(1024)) for t in range(64)]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  int seen[1024];
  for (int k = 0; k < 1024; k++) seen[k] = 0;
  for (uint k = 0; k < 1024; k++) seen[k * (i + 1) % 1024]++;
  out[i] = seen[0];
}
