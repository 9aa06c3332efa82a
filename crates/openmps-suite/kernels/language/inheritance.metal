// what: members and methods of a base class
// threads: 4
// out: np.zeros(4, np.int32)
// expect: [t + 100 + 2 * t for t in range(4)]
#include <metal_stdlib>
using namespace metal;

struct Base {
  int x;
  int plus(int y) const { return x + y; }
};
struct Derived : Base {
  int z;
  int all() const { return plus(100) + z; }
};

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  Derived d;
  d.x = i;
  d.z = 2 * i;
  out[i] = d.all();
}
