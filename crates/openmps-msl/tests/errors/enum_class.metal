#include <metal_stdlib>
using namespace metal;
enum class Mode { fast, slow };
kernel void f(device int* x) {
  x[0] = Mode::fast;
}
