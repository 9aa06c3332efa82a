#include <metal_stdlib>
using namespace metal;
struct Counter {
  int n;
  void add() { n++; }
};
kernel void f(constant Counter& c, device int* x) {
  c.add();
}
