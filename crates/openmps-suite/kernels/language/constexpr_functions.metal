// what: functions evaluated at compile time as array bounds
// out: np.zeros(2, np.int32)
// expect: [120, 10]
#include <metal_stdlib>
using namespace metal;

constexpr int factorial(int n) {
  return n <= 1 ? 1 : n * factorial(n - 1);
}
constexpr int triangle(int n) {
  int sum = 0;
  for (int k = 1; k <= n; k++) sum += k;
  return sum;
}
static_assert(factorial(4) == 24, "");

kernel void test(device int* out) {
  int values[triangle(4)];
  for (int k = 0; k < triangle(4); k++) values[k] = 1;
  int sum = 0;
  for (int x : values) sum += x;
  constexpr int product = factorial(5);
  out[0] = product;
  out[1] = sum;
}
