// what: a class template with methods, operators and a constructor
// threads: 8
// out: np.zeros(8, np.float32)
// expect: [(1 + t) * 3 + (2 + t) * 4 for t in range(8)]
#include <metal_stdlib>
using namespace metal;

template <typename T, int N>
struct Row {
  T values[N];
  Row(T first) {
    for (int k = 0; k < N; k++) values[k] = first + k;
  }
  T operator*(Row other) const {
    T sum = 0;
    for (int k = 0; k < N; k++) sum += values[k] * other.values[k];
    return sum;
  }
};

kernel void test(device float* out, uint i [[thread_position_in_grid]]) {
  Row<float, 2> x(1.0f + i), y(3.0f);
  out[i] = x * y;
}
