#include <metal_stdlib>
using namespace metal;
template <typename T> struct Op {
  T apply(T a) const { return a.scale(); }
};
template <typename T> void run(device T* x) { Op<T> op; x[0] = op.apply(x[0]); }
kernel void f(device float* x) {
  run(x);
}
