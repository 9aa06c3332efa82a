// what: os_log and assert are accepted and change nothing
// out: np.zeros(1, np.int32)
// expect: [3]
#include <metal_stdlib>
#include <metal_logging>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  os_log_default.log("thread %u of %d", i, 1);
  os_log_default.log_error("never seen");
  assert(i < 1000);
  out[0] = 3;
}
