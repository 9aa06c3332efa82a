// what: switch, do, continue, early return, goto-free nested loops with break
// threads: 6
// out: np.full(6, -1, np.int32)
// expect: [100, 7, 6, 3, 4, -1]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  if (i == 5) return;
  switch (i) {
    case 0:
      out[i] = 100;
      break;
    case 1: {
      int k = 0;
      do {
        k++;
      } while (k < 7);
      out[i] = k;
      break;
    }
    case 2: {
      int total = 0;
      for (int a = 0; a < 5; a++) {
        if (a % 2) continue;
        for (int b = 0;; b++) {
          if (b == a) break;
          total++;
        }
      }
      out[i] = total;
      break;
    }
    default:
      out[i] = i;
  }
}
