// what: enum class with an underlying type in a switch
// threads: 3
// out: np.zeros(3, np.int32)
// expect: [10, 20, 30]
#include <metal_stdlib>
using namespace metal;

enum class Mode : uchar { first, second, third };

int value(Mode mode) {
  switch (mode) {
    case Mode::first: return 10;
    case Mode::second: return 20;
    case Mode::third: return 30;
  }
  return 0;
}

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  out[i] = value(Mode(i));
}
