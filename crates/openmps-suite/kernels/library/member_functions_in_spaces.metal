// what: methods and constructors on objects in device, threadgroup and constant memory
// out: np.array([1, 2, 0, 0], np.int32)
// expect: [11, 2, 3, 42]
#include <metal_stdlib>
using namespace metal;

struct Pair {
  int a, b;
  int sum() const { return a + b; }
  void add(int x) thread { a += x; }
  void add(int x) device { a += x; }
};
constant Pair fixed = {40, 2};

kernel void test(device Pair* out) {
  threadgroup Pair shared;
  shared = Pair{1, 2};
  int s = shared.sum();
  out[0].add(10);
  out[1].a = s;
  out[1].b = fixed.sum();
}
