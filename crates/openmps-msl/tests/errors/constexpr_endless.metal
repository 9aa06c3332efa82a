#include <metal_stdlib>
using namespace metal;
constexpr int g() { int n = 0; while (true) n++; return n; }
constant int value = g();
static_assert(g() > 0, "");
kernel void f(device int* x) { x[0] = value; }
