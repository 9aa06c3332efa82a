// what: lambdas that capture by value, by reference and generically
// threads: 8
// out: np.zeros(8, np.int32)
// expect: [t + 10 + 2 * (t + 10) + 5 for t in range(8)]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  int base = i;
  auto raise = [&base](int by) { base += by; };
  raise(10);
  auto twice = [=](auto x) { return base + 2 * x; };
  int fixed = 5;
  auto add = [fixed](int x) { return x + fixed; };
  out[i] = add(twice(base));
}
