// what: program-scope constants, tables of structs, static constexpr members
// threads: 4
// out: np.zeros(4, np.float32)
// expect: [11.5, 22.5, 33.5, 44.5]
#include <metal_stdlib>
using namespace metal;

struct Row {
  float value;
  int weight;
};
constant Row rows[] = {{1, 10}, {2, 20}, {3, 30}, {4, 40}};
constant constexpr float shift = 0.5;
template <typename T>
struct Traits {
  static constexpr constant int count = sizeof(T);
};

kernel void test(device float* out, uint i [[thread_position_in_grid]]) {
  Row row = rows[i % Traits<float>::count];
  out[i] = row.value + rows[i].weight + shift;
}
