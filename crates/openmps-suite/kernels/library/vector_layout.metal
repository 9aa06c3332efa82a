// what: sizes and alignments of vectors, packed vectors and matrices
// out: np.zeros(1, np.int32)
// expect: [1]
#include <metal_stdlib>
using namespace metal;

#define LAYOUT(T, size, align) static_assert(sizeof(T) == size && alignof(T) == align, #T)
LAYOUT(bool2, 2, 2);
LAYOUT(bool3, 4, 4);
LAYOUT(bool4, 4, 4);
LAYOUT(char3, 4, 4);
LAYOUT(uchar4, 4, 4);
LAYOUT(short2, 4, 4);
LAYOUT(ushort3, 8, 8);
LAYOUT(half2, 4, 4);
LAYOUT(half3, 8, 8);
LAYOUT(half4, 8, 8);
LAYOUT(bfloat4, 8, 8);
LAYOUT(int2, 8, 8);
LAYOUT(uint3, 16, 16);
LAYOUT(float2, 8, 8);
LAYOUT(float3, 16, 16);
LAYOUT(float4, 16, 16);
LAYOUT(long2, 16, 16);
LAYOUT(long3, 32, 32);
LAYOUT(ulong4, 32, 32);
LAYOUT(packed_float2, 8, 4);
LAYOUT(packed_float3, 12, 4);
LAYOUT(packed_float4, 16, 4);
LAYOUT(packed_half3, 6, 2);
LAYOUT(packed_uchar3, 3, 1);
LAYOUT(packed_long3, 24, 8);
LAYOUT(float2x2, 16, 8);
LAYOUT(float3x3, 48, 16);
LAYOUT(float4x4, 64, 16);
LAYOUT(float2x3, 32, 16);
LAYOUT(float4x2, 32, 8);
LAYOUT(half3x3, 24, 8);
LAYOUT(half2x2, 8, 4);

struct Mixed {
  char a;
  float3 b;
  half c;
  packed_float3 d;
  bool e;
};
static_assert(sizeof(Mixed) == 64, "a struct is laid out as in C");

kernel void test(device int* out) { out[0] = 1; }
