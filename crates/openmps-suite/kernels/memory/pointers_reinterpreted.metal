// what: bytes of a float buffer through a uchar pointer
// threads: 16
// out: np.zeros(16, np.int32)
// in: rng.standard_normal(4).astype(np.float32)
// expect: a.view(np.uint8)
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const float* a, uint i [[thread_position_in_grid]]) {
  out[i] = reinterpret_cast<device const uchar*>(a)[i];
}
