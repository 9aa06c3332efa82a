#include <metal_stdlib>
using namespace metal;
struct A { int a; };
struct B : virtual A {};
kernel void f(device int* x) {
  B b;
  x[0] = b.a;
}
