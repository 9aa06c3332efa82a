// what: constant arrays at program scope, of structs and of vectors
// threads: 12
// out: np.zeros(12, np.int32)
// expect: [[1, 5, 9][t % 3] * [2, 4][t % 2] + 1 for t in range(12)]
#include <metal_stdlib>
using namespace metal;

struct Step {
  int factor;
  int2 weights;
};
constant Step steps[] = {{1, int2(2, 4)}, {5, int2(2, 4)}, {9, int2(2, 4)}};
static constant int one = 1;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  out[i] = steps[i % 3].factor * steps[i % 3].weights[i % 2] + one;
}
