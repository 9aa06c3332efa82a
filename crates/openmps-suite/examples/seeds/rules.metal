#include <metal_stdlib>
#pragma METAL fp math_mode(safe)
using namespace metal;
constant float table[3] = {1.0h, 0x1p-3f, 2};
#define PICK(c, a, b) ((c) ? half(a) : half(b))
template <typename T> struct pair {
    T a, b;
    T sum() const device { return a + b; }
};
template <typename T>
[[kernel]] void rules(device T* out [[buffer(0)]], constant int* sizes [[buffer(1)]], uint2 i [[thread_position_in_grid]]) {
    threadgroup T tile[8][8];
    tile[i.x % 8][i.y % 8] = T(table[i.x % 3]); /* two
    lines */ threadgroup_barrier(mem_flags::mem_none);
    pair<T> p = {tile[0][0], T(sizes[1])};
    out[i.x] = i.y ? p.sum() : T(PICK(i.x, 1, 2));
}
template [[host_name("rules_f32")]] [[kernel]] void rules<float>(device float*, constant int*, uint2);
template [[host_name("rules_f16")]] kernel decltype(rules<half>) rules<half>;
