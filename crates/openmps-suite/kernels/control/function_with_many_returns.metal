// what: a helper that returns from many places, called twice
// threads: 50
// out: np.zeros(50, np.int32)
// let: f = lambda x: 0 if x < 5 else 1 if x % 2 else 2 if x % 3 == 0 else 3 if x > 30 else 4
// expect: [f(t) * 10 + f(50 - t) for t in range(50)]
#include <metal_stdlib>
using namespace metal;

int classify(int x) {
  if (x < 5) return 0;
  if (x % 2) return 1;
  if (x % 3 == 0) return 2;
  if (x > 30) return 3;
  return 4;
}

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  out[i] = classify(i) * 10 + classify(50 - int(i));
}
