#include <metal_stdlib>
using namespace metal;
struct Shape {
  virtual float area() { return 0; }
};
kernel void f(device float* x) {
  Shape s;
  x[0] = s.area();
}
