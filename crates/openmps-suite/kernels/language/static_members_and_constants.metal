// what: static functions, enums in classes and constexpr members
// out: np.zeros(3, np.int32)
// expect: [12, 2, 7]
#include <metal_stdlib>
using namespace metal;

struct Layout {
  enum Kind { row, column = 2 };
  static constexpr constant int width = 4;
  static int at(int r, int c) { return r * width + c; }
};

kernel void test(device int* out) {
  out[0] = Layout::at(2, 4);
  out[1] = Layout::column;
  out[2] = Layout::width + 3;
}
