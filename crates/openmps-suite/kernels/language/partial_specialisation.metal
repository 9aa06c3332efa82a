// what: a trait specialised for pointers and vectors
// out: np.zeros(3, np.int32)
// expect: [1, 4, 3]
#include <metal_stdlib>
using namespace metal;

template <typename T>
struct lanes {
  static constexpr constant int value = 1;
};
template <typename T, int N>
struct lanes<vec<T, N>> {
  static constexpr constant int value = N;
};

kernel void test(device int* out) {
  out[0] = lanes<float>::value;
  out[1] = lanes<half4>::value;
  out[2] = lanes<uint3>::value;
}
