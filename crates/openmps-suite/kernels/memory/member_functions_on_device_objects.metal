// what: member functions called on objects in device memory
// threads: 8
// out: np.arange(16, dtype=np.float32)
// expect: (np.arange(16).reshape(8, 2)[:, ::-1] * [1, 10]).ravel()
#include <metal_stdlib>
using namespace metal;

struct Pair {
  float x, y;
  void swap() {
    float kept = x;
    x = y;
    y = kept;
  }
  void scale(float by) device { y *= by; }
};

kernel void test(device Pair* out, uint i [[thread_position_in_grid]]) {
  out[i].swap();
  out[i].scale(10);
}
