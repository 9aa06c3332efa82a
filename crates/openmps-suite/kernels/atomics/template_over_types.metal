// what: a helper template over the atomic's type
// threads: 64
// out: np.zeros(2, np.int32)
// expect: [64, np.float32(32).view(np.int32)]
#include <metal_stdlib>
using namespace metal;

template <typename T>
void count(device T* place, T by) {
  atomic_fetch_add_explicit(reinterpret_cast<device atomic<T>*>(place), by, memory_order_relaxed);
}

kernel void test(device int* out) {
  count<int>(out, 1);
  count<float>(reinterpret_cast<device float*>(out + 1), 0.5f);
}
