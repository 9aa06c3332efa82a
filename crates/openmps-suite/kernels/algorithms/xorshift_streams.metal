// what: independent xorshift generators, one a thread
// threads: 64
// out: np.zeros(64, np.int32)
// let: step = lambda x: (lambda y: (lambda z: z ^ z << 5 & 0xffffffff)(y ^ y >> 17))(x ^ x << 13 & 0xffffffff)
// let: run = (lambda f: lambda x: [x := f(x) for _ in range(25)][-1])(step)
// expect: np.array([run(t * 2654435761 + 1 & 0xffffffff) for t in range(64)], np.uint32).view(np.int32)
#include <metal_stdlib>
using namespace metal;

kernel void test(device uint* out, uint i [[thread_position_in_grid]]) {
  uint x = i * 2654435761u + 1;
  for (int k = 0; k < 25; k++) {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
  }
  out[i] = x;
}
