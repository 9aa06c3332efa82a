// what: for over a private array, by value and by reference
// out: np.zeros(3, np.int32)
// expect: [2, 4, 6]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out) {
  int values[] = {1, 2, 3};
  for (thread int& x : values) x *= 2;
  int k = 0;
  for (auto x : values) out[k++] = x;
}
