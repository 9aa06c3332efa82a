#include <metal_stdlib>
using namespace metal;
template <int N> struct Count { enum { value = Count<N - 1>::value + 1 }; };
kernel void f(device int* x) {
  x[0] = Count<4>::value;
}
