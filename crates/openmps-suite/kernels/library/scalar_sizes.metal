// what: sizes and alignments of scalars and the width of char
// out: np.zeros(1, np.int32)
// expect: [1]
#include <metal_stdlib>
using namespace metal;

static_assert(sizeof(bool) == 1 && sizeof(char) == 1 && sizeof(uchar) == 1, "");
static_assert(sizeof(short) == 2 && sizeof(ushort) == 2 && sizeof(half) == 2 && sizeof(bfloat) == 2, "");
static_assert(sizeof(int) == 4 && sizeof(uint) == 4 && sizeof(float) == 4, "");
static_assert(sizeof(long) == 8 && sizeof(ulong) == 8 && sizeof(size_t) == 8 && sizeof(ptrdiff_t) == 8, "");
static_assert(char(-1) < 0, "char is signed");
static_assert(is_same_v<int8_t, signed char> && is_same_v<uint64_t, ulong> && is_same_v<int32_t, int>, "");

kernel void test(device int* out) { out[0] = sizeof(device char*) == 8; }
