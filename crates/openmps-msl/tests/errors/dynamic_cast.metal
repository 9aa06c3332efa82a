#include <metal_stdlib>
using namespace metal;
struct A { int a; };
struct B : A { int b; };
kernel void f(device int* x) {
  B b;
  A* a = &b;
  x[0] = dynamic_cast<B*>(a)->b;
}
