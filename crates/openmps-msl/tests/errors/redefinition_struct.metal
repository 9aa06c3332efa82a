#include <metal_stdlib>
using namespace metal;
struct P { int a; };
struct P { float b; };
kernel void f(device P* x) { x[0].a = 1; }
