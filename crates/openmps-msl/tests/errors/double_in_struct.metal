#include <metal_stdlib>
using namespace metal;
struct Params {
  double scale;
};
kernel void f(device float* x, constant Params& p) {
  x[0] = p.scale;
}
