// what: references and pointers to components; components by index
// out: np.zeros(4, np.float32)
// expect: [5, 7, 9, 11]
#include <metal_stdlib>
using namespace metal;

static void add(thread float& x, float y) { x += y; }
static void store(device float& x, float y) { x = y; }

kernel void test(device float4* out, uint i [[thread_position_in_grid]]) {
  float4 v(1, 2, 3, 4);
  add(v.x, 4);
  thread float* p = &v.y;
  *p = 7;
  v[i + 2] = 9;
  out[0] = v;
  store(out[0].w, 11);
}
