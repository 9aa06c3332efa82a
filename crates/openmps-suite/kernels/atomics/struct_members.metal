// what: atomics as members of a struct in device memory
// threads: 50
// out: np.zeros(3, np.int32)
// expect: [50, sum(range(50)), 49]
#include <metal_stdlib>
using namespace metal;

struct Statistics {
  atomic_int count;
  atomic_int sum;
  atomic_int largest;
};

kernel void test(device Statistics& out, uint i [[thread_position_in_grid]]) {
  atomic_fetch_add_explicit(&out.count, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&out.sum, int(i), memory_order_relaxed);
  atomic_fetch_max_explicit(&out.largest, int(i), memory_order_relaxed);
}
