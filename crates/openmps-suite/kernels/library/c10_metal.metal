// what: PyTorch's headers, whose text compile_shader pastes in
// threads: 4
// out: np.zeros(4, np.float32)
// in: np.array([0.5, 1.0, 1.5, 2.5], np.float32)
// expect: [0.5204999, 0.8427008, 0.9661051, 0.9995930]
// tolerance: 2e-6
// Compiled as it is without an include path, this file has no c10: tests give it the text of torch's include folder.
#include <c10/metal/special_math.h>
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* in, uint i [[thread_position_in_grid]]) {
  out[i] = c10::metal::erf(in[i]);
}
