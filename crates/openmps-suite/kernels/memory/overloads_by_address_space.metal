// what: functions overloaded on the address space of their pointer
// threads: 4
// group: 4
// out: np.zeros(4, np.int32)
// in: np.arange(4, dtype=np.int32)
// expect: [1234] * 4
#include <metal_stdlib>
using namespace metal;

int space(device const int*) { return 1; }
int space(constant int*) { return 2; }
int space(threadgroup int*) { return 3; }
int space(thread int*) { return 4; }
constant int table[] = {0};

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  threadgroup int shared[4];
  int local = 0;
  out[i] = space(a) * 1000 + space(table) * 100 + space(shared) * 10 + space(&local);
}
