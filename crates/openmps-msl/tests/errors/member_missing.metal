#include <metal_stdlib>
using namespace metal;
struct Params {
  int width;
};
kernel void f(device int* x, constant Params& p) {
  x[0] = p.height;
}
