// what: a base class template that calls its derived class
// out: np.zeros(2, np.int32)
// expect: [10, 20]
#include <metal_stdlib>
using namespace metal;

template <typename Derived>
struct Shape {
  int doubled() thread { return 2 * static_cast<thread Derived*>(this)->area(); }
};
struct Square : Shape<Square> {
  int area() { return 5; }
};
struct Circle : Shape<Circle> {
  int area() { return 10; }
};

kernel void test(device int* out) {
  Square square;
  Circle circle;
  out[0] = square.doubled();
  out[1] = circle.doubled();
}
