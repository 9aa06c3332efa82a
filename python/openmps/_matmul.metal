// Matrix products for PYTORCH_MPS_PREFER_METAL: out = beta * self + alpha * (a @ b), for a batch of matrices.
//
// One threadgroup makes a tile of the result; tiles of both factors pass through threadgroup memory. Sums are formed in float,
// in long for integers, and in float pairs for complex numbers, and rounded once.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint TILE = 16;

// sizes: rows, columns, depth, whether self counts. strides: batch, row, column of each matrix.
enum Size { ROWS, COLUMNS, DEPTH, HAS_SELF };

struct Real {
  template <typename T> static float load(T value) { return float(value); }
  static float zero() { return 0; }
  static float add_product(float sum, float a, float b) { return fma(a, b, sum); }
  static float scale(constant float* factor, float value) { return factor[0] * value; }
  template <typename T> static T store(float value) { return T(value); }
};

struct Integer {
  template <typename T> static long load(T value) { return long(value); }
  static long zero() { return 0; }
  static long add_product(long sum, long a, long b) { return sum + a * b; }
  static long scale(constant long* factor, long value) { return factor[0] * value; }
  template <typename T> static T store(long value) { return T(value); }
};

struct Complex {
  template <typename T> static float2 load(T value) { return float2(value); }
  static float2 zero() { return float2(0); }
  static float2 product(float2 a, float2 b) { return float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
  static float2 add_product(float2 sum, float2 a, float2 b) { return sum + product(a, b); }
  static float2 scale(constant float* factor, float2 value) { return product(float2(factor[0], factor[1]), value); }
  template <typename T> static T store(float2 value) { return T(value); }
};

template <typename T, typename Sum, typename Number, typename Factor>
kernel void matmul(
    device T* out [[buffer(0)]],
    device const T* a [[buffer(1)]],
    device const T* b [[buffer(2)]],
    device const T* self [[buffer(3)]],
    constant long* sizes [[buffer(4)]],
    constant long* a_strides [[buffer(5)]],
    constant long* b_strides [[buffer(6)]],
    constant long* self_strides [[buffer(7)]],
    constant Factor* alpha [[buffer(8)]],
    constant Factor* beta [[buffer(9)]],
    uint3 position [[thread_position_in_grid]],
    uint3 local [[thread_position_in_threadgroup]]) {
  threadgroup Sum a_tile[TILE][TILE];
  threadgroup Sum b_tile[TILE][TILE];
  const long column = position.x, row = position.y, batch = position.z;
  Sum sum = Number::zero();
  for (long start = 0; start < sizes[DEPTH]; start += TILE) {
    const long a_column = start + local.x, b_row = start + local.y;
    const bool has_a = row < sizes[ROWS] && a_column < sizes[DEPTH];
    const bool has_b = column < sizes[COLUMNS] && b_row < sizes[DEPTH];
    a_tile[local.y][local.x] = has_a
        ? Number::load(a[batch * a_strides[0] + row * a_strides[1] + a_column * a_strides[2]])
        : Number::zero();
    b_tile[local.y][local.x] = has_b
        ? Number::load(b[batch * b_strides[0] + b_row * b_strides[1] + column * b_strides[2]])
        : Number::zero();
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 0; k < TILE; ++k) {
      sum = Number::add_product(sum, a_tile[local.y][k], b_tile[k][local.x]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (row >= sizes[ROWS] || column >= sizes[COLUMNS]) {
    return;
  }
  Sum value = Number::scale(alpha, sum);
  if (sizes[HAS_SELF] != 0) {
    const device T* term = self + batch * self_strides[0] + row * self_strides[1] + column * self_strides[2];
    value += Number::scale(beta, Number::load(*term));
  }
  out[(batch * sizes[ROWS] + row) * sizes[COLUMNS] + column] = Number::template store<T>(value);
}

#define MATMUL(T, SUM, NUMBER, FACTOR)                                       \
  template [[host_name("matmul_" #T)]] kernel void matmul<T, SUM, NUMBER, FACTOR>( \
      device T*, device const T*, device const T*, device const T*, constant long*, constant long*, \
      constant long*, constant long*, constant FACTOR*, constant FACTOR*, uint3, uint3)

MATMUL(float, float, Real, float);
MATMUL(half, float, Real, float);
MATMUL(bfloat, float, Real, float);
MATMUL(uchar, long, Integer, long);
MATMUL(char, long, Integer, long);
MATMUL(short, long, Integer, long);
MATMUL(int, long, Integer, long);
MATMUL(long, long, Integer, long);
MATMUL(float2, float2, Complex, float);
MATMUL(half2, float2, Complex, float);
