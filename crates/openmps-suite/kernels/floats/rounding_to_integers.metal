// what: rint ties to even, round ties away from zero
// threads: 9
// out: np.zeros(18, np.float32)
// in: np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 8388609, 0.49999997, -1e20], np.float32)
// let: away = np.sign(a) * np.floor(np.abs(a.astype(np.float64)) + 0.5)
// expect: np.stack([np.rint(a), away], 1).ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a, uint i [[thread_position_in_grid]]) {
  out[2 * i] = rint(a[i]);
  out[2 * i + 1] = round(a[i]);
}
