// what: numeric_limits of every type
// out: np.zeros(8, np.float32)
// expect: [np.inf, 65504, 1, -128, 255, 2**-10, np.nan, 1]
#include <metal_stdlib>
using namespace metal;

static_assert(numeric_limits<int>::max() == 2147483647 && numeric_limits<int>::lowest() == INT_MIN, "");
static_assert(numeric_limits<long>::min() == LONG_MIN && numeric_limits<ulong>::max() == ULONG_MAX, "");
static_assert(numeric_limits<ushort>::max() == 65535 && numeric_limits<short>::min() == -32768, "");
static_assert(numeric_limits<float>::digits == 24 && numeric_limits<half>::digits == 11, "");
static_assert(numeric_limits<bfloat>::digits == 8 && !numeric_limits<int>::has_infinity, "");
static_assert(numeric_limits<const device float>::is_specialized, "");

kernel void test(device float* out) {
  out[0] = numeric_limits<float>::infinity();
  out[1] = numeric_limits<half>::max();
  out[2] = numeric_limits<bool>::max();
  out[3] = numeric_limits<char>::min();
  out[4] = numeric_limits<uchar>::max();
  out[5] = numeric_limits<half>::epsilon();
  out[6] = numeric_limits<float>::quiet_NaN();
  out[7] = float(numeric_limits<bfloat>::max()) > 3e38f;
}
