// what: Fibonacci numbers by powers of a matrix
// threads: 30
// out: np.zeros(30, np.float32)
// let: fib = [0, 1]
// let: fib = [fib.append(fib[-1] + fib[-2]) or fib for _ in range(40)][-1]
// expect: fib[:30]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, uint i [[thread_position_in_grid]]) {
  float2x2 result(1.0f), base(float2(1, 1), float2(1, 0));
  for (uint e = i; e > 0; e /= 2) {
    if (e % 2) result = result * base;
    base = base * base;
  }
  out[i] = result[1][0];
}
