// what: nested namespaces, aliases and using declarations
// out: np.zeros(2, np.int32)
// expect: [3, 5]
#include <metal_stdlib>
using namespace metal;

namespace outer::inner {
int three() { return 3; }
constant int five = 5;
}  // namespace outer::inner
namespace shorter = outer::inner;

kernel void test(device int* out) {
  using shorter::three;
  out[0] = three();
  out[1] = outer::inner::five;
}
