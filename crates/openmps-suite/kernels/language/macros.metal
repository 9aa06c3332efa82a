// what: function macros, stringising, pasting and conditionals
// out: np.zeros(4, np.int32)
// expect: [9, 5, 42, 1]
#include <metal_stdlib>
using namespace metal;

#define SQUARE(x) ((x) * (x))
#define JOIN(a, b) a##b
#define MAKE(name, value) \
  int name() {            \
    return value;         \
  }
MAKE(answer, 42)
#if defined(__METAL_VERSION__) && __METAL_VERSION__ >= 300
#define MODERN 1
#else
#define MODERN 0
#endif

kernel void test(device int* out) {
  int five = 5;
  out[0] = SQUARE(1 + 2);
  out[1] = JOIN(fi, ve);
  out[2] = answer();
  out[3] = MODERN;
}
