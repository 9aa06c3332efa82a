// what: branches of if constexpr that would not compile for the type
// out: np.zeros(2, np.float32)
// expect: [6, 4]
#include <metal_stdlib>
using namespace metal;

template <typename T>
float total(T x) {
  if constexpr (is_same_v<T, float3>)
    return x.x + x.y + x.z;
  else
    return x;
}

kernel void test(device float* out) {
  out[0] = total(float3(1, 2, 3));
  out[1] = total(4.0f);
}
