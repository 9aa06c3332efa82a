// what: traits over scalars, vectors and address spaces
// out: np.zeros(1, np.int32)
// expect: [1]
#include <metal_stdlib>
using namespace metal;

static_assert(is_same_v<float, float> && !is_same_v<float, half>, "");
static_assert(is_floating_point_v<half> && is_floating_point_v<bfloat> && !is_floating_point_v<int>, "");
static_assert(is_integral_v<uchar> && is_integral_v<bool> && !is_integral_v<float>, "");
static_assert(is_signed_v<int> && is_unsigned_v<uint> && !is_signed_v<uint>, "");
static_assert(is_vector_v<float4> && !is_vector_v<float> && is_scalar_v<float> && !is_scalar_v<float4>, "");
static_assert(is_same_v<make_unsigned_t<int>, uint> && is_same_v<make_signed_t<ulong>, long>, "");
static_assert(is_same_v<conditional_t<true, int, float>, int>, "");
static_assert(is_same_v<decay_t<const int&>, int> && is_same_v<remove_pointer_t<int*>, int>, "");
static_assert(conjunction_v<true_type, true_type> && disjunction_v<false_type, true_type> && negation_v<false_type>, "");
static_assert(is_convertible_v<half, float> && !is_convertible_v<half, bfloat>, "");
template <typename T, typename = enable_if_t<is_integral_v<T>>>
int pick(T) {
  return 1;
}
template <typename T, typename = enable_if_t<is_floating_point_v<T>>, typename = void>
int pick(T) {
  return 2;
}
template <typename T>
struct pointee;
template <typename T>
struct pointee<device T*> {
  using type = T;
};
static_assert(is_same_v<pointee<device half*>::type, half>, "");

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  remove_cv_t<remove_reference_t<decltype(out[0])>> local = pick(i) + pick(1.0f) - 2;
  out[0] = local;
}
