// what: a member template and a conversion operator
// out: np.zeros(2, np.float32)
// expect: [2.5, 3]
#include <metal_stdlib>
using namespace metal;

struct Number {
  float value;
  template <typename T>
  T as() const {
    return T(value);
  }
  operator float() const { return value; }
};

kernel void test(device float* out) {
  Number n = {2.5f};
  out[0] = n;
  out[1] = n.as<int>() + 1;
}
