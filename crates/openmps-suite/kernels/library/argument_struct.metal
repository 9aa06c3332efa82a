// what: a struct with nested arrays and vectors, read from device and constant memory
// out: np.zeros(4, np.float32)
// in: np.array([1, 2, 3, 4, 5, 6, 7, 8], np.float32)
// in: a
// expect: [1, 26, 4, 10]
#include <metal_stdlib>
using namespace metal;

struct Inner {
  float values[2];
  float sum() const { return values[0] + values[1]; }
};
struct Outer {
  packed_float2 head;
  Inner inner[3];
  float total() const {
    float s = 0;
    for (int i = 0; i < 3; i++) s += inner[i].sum();
    return s;
  }
};

kernel void test(device float* out, constant Outer& a, device const Outer* b) {
  out[0] = b->head.x;
  Outer copy = *b;
  copy.inner[0] = Inner{{0, 0}};
  out[1] = copy.total();
  out[2] = b->inner[0].values[1];
  out[3] = a.inner[0].sum() + a.head.x + a.head.y;
}
