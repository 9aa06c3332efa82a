// what: explicit instantiation with a host name
// threads: 8
// out: np.zeros(8, np.float32)
// expect: np.arange(8) * 2.5
#include <metal_stdlib>
using namespace metal;

template <typename T>
kernel void scale(device T* out, uint i [[thread_position_in_grid]]) {
  out[i] = T(i) * T(2.5);
}
template [[host_name("test")]] kernel void scale<float>(device float*, uint);
template [[host_name("test_half")]] kernel void scale<half>(device half*, uint);
