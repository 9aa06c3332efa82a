// what: lambdas, structured bindings, fold expressions, if constexpr, recursion, references
// out: np.zeros(5, np.int32)
// expect: [6, 3, 10, 120, 9]
#include <metal_stdlib>
using namespace metal;

struct Two {
  int first, second;
};
template <typename... T>
int sum(T... values) {
  return (values + ...);
}
template <int N>
int factorial() {
  if constexpr (N <= 1)
    return 1;
  else
    return N * factorial<N - 1>();
}

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  int base = i + 3;
  auto twice = [&](auto x) { return x * 2; };
  out[0] = twice(base);
  auto [first, second] = Two{1, 2};
  out[1] = first + second;
  out[2] = sum(1, 2, 3, 4);
  out[3] = factorial<5>();
  thread int& reference = base;
  reference *= 3;
  out[4] = base;
}
