#include <metal_stdlib>
using namespace metal;

struct Pair {
  float first;
  float second;
  Pair() = default;
  Pair(float a, float b) thread : first(a), second(b) {}
  float sum() const thread { return first + second; }
  float sum() const device { return first + second; }
  float sum() const constant { return first + second; }
  void scale(float by) threadgroup { first *= by; second *= by; }
};

template <typename T, int N = 4>
struct Tile {
  threadgroup T* memory;
  Tile(threadgroup T* m) : memory(m) {}
  T total() const {
    T result = 0;
    for (int i = 0; i < N; ++i)
      result += memory[i];
    return result;
  }
};

constant float4 offsets[2] = {float4(1), float4(0, 1, 2, 3.5)};
constant float scale = 0.5 * 3;
constant char name[] = "members";

template <typename T>
T pick(bool first, device const T* a, constant T* b, uint i) {
  return first ? a[i] : b[i];
}

void fill(threadgroup float x[32], uint lane) { x[lane] = lane * 0.25; }

kernel void members(device float* out, device const Pair* pairs, constant Pair& one, constant float4* table,
                    device const float4* values, uint i [[thread_position_in_grid]],
                    ushort lane [[thread_index_in_simdgroup]]) {
  threadgroup float shared[32];
  threadgroup Pair scaled;
  fill(shared, lane);
  if (lane == 0) {
    scaled = Pair(1, 2);
    scaled.scale(2);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  Tile<float> tile(shared);
  const char c = "text"[i % 4];
  float4 v = pick(i > 3, values, table, i) + offsets[i & 1].wzyx;
  out[i] = pairs[i].sum() + one.sum() + tile.total() + v.x * scale + float(c + name[0]) + scaled.first;
}
