// `metal_pack`: vectors of normalised integers in one word, as the MSL specification's tables define them.
//
// Packing clamps, scales and rounds to nearest even; unpacking divides. sRGB forms convert the first three components.
#pragma once
#pragma clang system_header
#include "integer.h"

namespace metal {

namespace __d {
// Component `x` in [0, 1] or [-1, 1] as an integer of `bits` bits at position `shift`.
__MSL_LAZY uint pack_unorm(float x, uint bits, uint shift) {
  return uint(precise::rint(precise::saturate(x) * float((1u << bits) - 1))) << shift;
}
__MSL_LAZY uint pack_snorm(float x, uint bits, uint shift) {
  float scale = float((1u << (bits - 1)) - 1);
  return (uint(int(precise::rint(precise::clamp(x, -1.0f, 1.0f) * scale))) & ((1u << bits) - 1)) << shift;
}
__MSL_LAZY float unpack_unorm(uint word, uint bits, uint shift) {
  uint mask = (1u << bits) - 1;
  return float((word >> shift) & mask) / float(mask);
}
__MSL_LAZY float unpack_snorm(uint word, uint bits, uint shift) {
  int value = int(word << (32 - bits - shift)) >> (32 - bits);
  return precise::fmax(float(value) / float((1u << (bits - 1)) - 1), -1.0f);
}
__MSL_LAZY float srgb_to_linear(float c) {
  return c <= 0.04045f ? c / 12.92f : precise::pow((c + 0.055f) / 1.055f, 2.4f);
}
__MSL_LAZY float linear_to_srgb(float c) {
  c = precise::saturate(c);
  return c < 0.0031308f ? c * 12.92f : 1.055f * precise::pow(c, 1.0f / 2.4f) - 0.055f;
}
} // namespace __d

#define __MSL_PACK(name, Word, N, ...)                                                                 \
  __MSL_LAZY Word pack_float_to_##name(vec<float, N> v) { return Word(__VA_ARGS__); }                       \
  __MSL_LAZY Word pack_half_to_##name(vec<half, N> v) { return pack_float_to_##name(vec<float, N>(v)); }
#define __MSL_UNPACK(name, Word, N, ...)                                                               \
  __MSL_LAZY vec<float, N> unpack_##name##_to_float(Word word) { return vec<float, N>(__VA_ARGS__); }       \
  __MSL_LAZY vec<half, N> unpack_##name##_to_half(Word word) { return vec<half, N>(unpack_##name##_to_float(word)); }

__MSL_PACK(
    unorm4x8, uint, 4,
    __d::pack_unorm(v.x, 8, 0) | __d::pack_unorm(v.y, 8, 8) | __d::pack_unorm(v.z, 8, 16) | __d::pack_unorm(v.w, 8, 24))
__MSL_PACK(
    snorm4x8, uint, 4,
    __d::pack_snorm(v.x, 8, 0) | __d::pack_snorm(v.y, 8, 8) | __d::pack_snorm(v.z, 8, 16) | __d::pack_snorm(v.w, 8, 24))
__MSL_PACK(
    srgb_unorm4x8, uint, 4,
    __d::pack_unorm(__d::linear_to_srgb(v.x), 8, 0) | __d::pack_unorm(__d::linear_to_srgb(v.y), 8, 8) |
        __d::pack_unorm(__d::linear_to_srgb(v.z), 8, 16) | __d::pack_unorm(v.w, 8, 24))
__MSL_PACK(unorm2x16, uint, 2, __d::pack_unorm(v.x, 16, 0) | __d::pack_unorm(v.y, 16, 16))
__MSL_PACK(snorm2x16, uint, 2, __d::pack_snorm(v.x, 16, 0) | __d::pack_snorm(v.y, 16, 16))
__MSL_PACK(
    unorm10a2, uint, 4,
    __d::pack_unorm(v.x, 10, 0) | __d::pack_unorm(v.y, 10, 10) | __d::pack_unorm(v.z, 10, 20) | __d::pack_unorm(v.w, 2, 30))
__MSL_PACK(
    unorm565, ushort, 3, __d::pack_unorm(v.x, 5, 11) | __d::pack_unorm(v.y, 6, 5) | __d::pack_unorm(v.z, 5, 0))

__MSL_UNPACK(
    unorm4x8, uint, 4, __d::unpack_unorm(word, 8, 0), __d::unpack_unorm(word, 8, 8), __d::unpack_unorm(word, 8, 16),
    __d::unpack_unorm(word, 8, 24))
__MSL_UNPACK(
    snorm4x8, uint, 4, __d::unpack_snorm(word, 8, 0), __d::unpack_snorm(word, 8, 8), __d::unpack_snorm(word, 8, 16),
    __d::unpack_snorm(word, 8, 24))
__MSL_UNPACK(
    unorm4x8_srgb, uint, 4, __d::srgb_to_linear(__d::unpack_unorm(word, 8, 0)),
    __d::srgb_to_linear(__d::unpack_unorm(word, 8, 8)), __d::srgb_to_linear(__d::unpack_unorm(word, 8, 16)),
    __d::unpack_unorm(word, 8, 24))
__MSL_UNPACK(unorm2x16, uint, 2, __d::unpack_unorm(word, 16, 0), __d::unpack_unorm(word, 16, 16))
__MSL_UNPACK(snorm2x16, uint, 2, __d::unpack_snorm(word, 16, 0), __d::unpack_snorm(word, 16, 16))
__MSL_UNPACK(
    unorm10a2, uint, 4, __d::unpack_unorm(word, 10, 0), __d::unpack_unorm(word, 10, 10), __d::unpack_unorm(word, 10, 20),
    __d::unpack_unorm(word, 2, 30))
__MSL_UNPACK(
    unorm565, ushort, 3, __d::unpack_unorm(word, 5, 11), __d::unpack_unorm(word, 6, 5), __d::unpack_unorm(word, 5, 0))
#undef __MSL_PACK
#undef __MSL_UNPACK

} // namespace metal
