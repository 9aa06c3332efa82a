// what: string literals are in the constant address space, also __func__ in a macro
// out: np.zeros(4, np.int32)
// expect: [104, 5, 116, 0]
#include <metal_stdlib>
using namespace metal;

static int length_of(constant const char* s) {
  int n = 0;
  while (s[n]) n++;
  return n;
}
#define FIRST_OF_FUNCTION __func__[0]

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  constant const char* hello = "hello";
  out[0] = hello[i];
  out[1] = length_of("hel" "lo");
  out[2] = FIRST_OF_FUNCTION;
  out[3] = hello[5];
}
