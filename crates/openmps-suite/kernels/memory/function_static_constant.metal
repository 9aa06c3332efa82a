// what: a static constexpr table inside a function
// threads: 8
// out: np.zeros(8, np.int32)
// expect: [2, 3, 5, 7, 11, 13, 17, 19]
#include <metal_stdlib>
using namespace metal;

int prime(uint k) {
  static constexpr constant int primes[] = {2, 3, 5, 7, 11, 13, 17, 19};
  return primes[k];
}

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  out[i] = prime(i);
}
