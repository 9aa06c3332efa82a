// what: members of structures in a private array, of which some are never used, through pointers that walk both ways
// threads: 96
// group: 48
// in: rng.integers(0, 6, 96).astype(np.int32)
// out: np.zeros(96, np.float32)
// expect: (a + 1) % 6 * 10 + 7 * np.arange(96) + a * 1000
#include <metal_stdlib>
using namespace metal;

struct Entry {
  float unused[3];
  float small;
  float also_unused[5];
  float large;
};

kernel void test(device float* out, device const int* in, uint i [[thread_position_in_grid]]) {
  Entry entries[6];
  for (int n = 0; n < 6; n++) {
    entries[n].small = n * 10 + 7.0f * i;
    entries[n].large = n * 1000;
  }
  thread Entry* here = entries + in[i];
  thread Entry* next = entries + (in[i] + 1) % 6;
  thread Entry* behind = here + 1;
  out[i] = next->small + (behind - 1)->large;
}
