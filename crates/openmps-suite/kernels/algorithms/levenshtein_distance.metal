// what: edit distances of words by rows of a private table
// threads: 6
// out: np.zeros(6, np.int32)
// in: np.frombuffer("".join(w.ljust(8) for w in ("kitten", "sitting", "sunday", "saturday", "metal", "petal")).encode(), np.int8)
// let: words = ("kitten", "sitting", "sunday", "saturday", "metal", "petal")
// let: distance = (lambda f: lambda x, y: f(f, x, y))(lambda f, x, y: len(x) + len(y) if not x or not y else min(f(f, x[1:], y) + 1, f(f, x, y[1:]) + 1, f(f, x[1:], y[1:]) + (x[0] != y[0])))
// expect: [distance(words[t], words[(t + 1) % 6][:4]) for t in range(6)]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const char* a, uint i [[thread_position_in_grid]]) {
  device const char* x = a + 8 * i;
  device const char* y = a + 8 * ((i + 1) % 6);
  int row[5] = {0, 1, 2, 3, 4};
  for (int r = 0; r < 8 && x[r] != ' '; r++) {
    int diagonal = row[0];
    row[0] = r + 1;
    for (int c = 0; c < 4; c++) {
      int best = min(min(row[c], row[c + 1]) + 1, diagonal + int(x[r] != y[c]));
      diagonal = row[c + 1];
      row[c + 1] = best;
    }
  }
  out[i] = row[4];
}
