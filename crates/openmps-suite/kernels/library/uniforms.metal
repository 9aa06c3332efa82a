// what: uniform<T> converts to and from T
// threads: 2
// out: np.zeros(2, np.int32)
// expect: [5, 6]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  uniform<int> five = make_uniform(5);
  out[i] = five + i;
}
