// what: fields of mixed sizes lie where C puts them
// threads: 3
// out: np.zeros((3, 4), np.float32)
// in: np.arange(72, dtype=np.int8)
// let: at = lambda t, k, d: np.frombuffer(a[24 * t + k:24 * t + k + np.dtype(d).itemsize].tobytes(), d)[0]
// expect: [[at(t, 0, np.int8), at(t, 2, np.int16), at(t, 4, np.int8), at(t, 8, np.int64)] for t in range(3)]
#include <metal_stdlib>
using namespace metal;

struct Record {
  char tag;
  short count;
  char flag;
  long id;
  bool last;
};
static_assert(sizeof(Record) == 24, "");

kernel void test(device float4* out, device const Record* a, uint i [[thread_position_in_grid]]) {
  out[i] = float4(a[i].tag, a[i].count, a[i].flag, a[i].id);
}
