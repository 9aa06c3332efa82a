// what: overloads and partial specialisations on the address space of a pointer
// out: np.zeros(6, np.int32)
// expect: [1, 2, 3, 4, 1, 2]
#include <metal_stdlib>
using namespace metal;

static int where(device const int*) { return 1; }
static int where(threadgroup const int*) { return 2; }
static int where(constant const int*) { return 3; }
static int where(thread const int*) { return 4; }
template <typename T>
struct Space;
template <typename T>
struct Space<device T*> {
  static constexpr constant int value = 1;
};
template <typename T>
struct Space<threadgroup T*> {
  static constexpr constant int value = 2;
};
constant int table[2] = {1, 2};

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  threadgroup int shared[4];
  int local = i;
  out[0] = where(out);
  out[1] = where(shared);
  out[2] = where(table);
  out[3] = where(&local);
  out[4] = Space<decltype(out)>::value;
  out[5] = Space<threadgroup int*>::value;
}
