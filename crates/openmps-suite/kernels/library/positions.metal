// what: thread_position_in_grid counts all threads
// threads: 100
// group: 32
// out: np.zeros(100, np.int32)
// expect: np.arange(100) * 3
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) { out[i] = i * 3; }
