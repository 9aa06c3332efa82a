// what: neighbours exchanged in alternating rounds, keys with values
// threads: 33
// group: 33
// out: np.zeros(33, np.int32)
// in: rng.permutation(33).astype(np.float32)
// expect: np.argsort(a)
#include <metal_stdlib>
using namespace metal;

struct Entry {
  float key;
  int value;
};

kernel void test(device int* out, device const float* a, uint i [[thread_position_in_grid]]) {
  threadgroup Entry entries[33];
  entries[i] = Entry{a[i], int(i)};
  for (uint round = 0; round < 33; round++) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i % 2 == round % 2 && i + 1 < 33 && entries[i].key > entries[i + 1].key) {
      Entry kept = entries[i];
      entries[i] = entries[i + 1];
      entries[i + 1] = kept;
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = entries[i].value;
}
