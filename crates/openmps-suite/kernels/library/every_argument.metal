#include <metal_stdlib>
using namespace metal;
constant float table[4] = {0.1, 0.2, 1e3, 4.};
constant bool use_bias [[function_constant(0)]];
struct P { float4 a; half2 b; device float* p; float get() const device { return a.x; } };
inline float addone(thread float& x) { x += 1; return x; }
template <typename T> T twice(T x) { return x * 2 + 0.5; }
template <typename T>
[[kernel]] void scale(device T* out [[buffer(1)]], const device T* in [[buffer(0)]], constant P& p [[buffer(3)]], threadgroup float* dyn [[threadgroup(0)]],
   uint3 tid [[thread_position_in_grid]], ushort lane [[thread_index_in_simdgroup]], uint2 tg [[threadgroup_position_in_grid]]) {
  threadgroup T shared[32];
  threadgroup atomic_uint counter;
  shared[lane] = in[tid.x] * T(table[lane % 4]);
  if (lane == 0) atomic_store_explicit(&counter, 0u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float q = p.get();
  float z = addone(q);
  float4 v = lane > 3 ? p.a : float4(0);
  if (use_bias) z += 1;
  out[tid.x] = twice(shared[31 - lane]) + T(simd_sum(float(shared[lane]))) + T(v.x) + T(dyn[tg.x]) + T(z);
}
template [[host_name("scale_float")]] [[kernel]] void scale<float>(device float*, const device float*, constant P&, threadgroup float*, uint3, ushort, uint2);
template [[host_name("scale_half")]] [[kernel]] decltype(scale<half>) scale<half>;
[[max_total_threads_per_threadgroup(256)]] void kernel named(device half* o, constant int* k, uint i [[thread_position_in_grid]]) { o[i] = half(k[i]) + 1.5h; }
