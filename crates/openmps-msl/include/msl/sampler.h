// `sampler`: how textures are sampled. Part of `metal_texture`.
//
// A sampler is the address of a state in constant memory. Only the compiler can place a state there: a `constexpr sampler` holds
// the state itself as if it were an address, marked by its highest bit, and the bridge (air_module.cpp) turns such addresses into
// variables named __air_sampler_state, as AIR has them. The fields of a state are those of Apple's compiler; see
// openmps-engine's texture/sampler.rs for their source.
#pragma once
#pragma clang system_header
#include "vec.h"

struct __air_sampler_t;

namespace metal {

enum class coord { normalized, pixel };
enum class address { clamp_to_zero, clamp_to_edge, repeat, mirrored_repeat, clamp_to_border };
enum class s_address { clamp_to_zero, clamp_to_edge, repeat, mirrored_repeat, clamp_to_border };
enum class t_address { clamp_to_zero, clamp_to_edge, repeat, mirrored_repeat, clamp_to_border };
enum class r_address { clamp_to_zero, clamp_to_edge, repeat, mirrored_repeat, clamp_to_border };
enum class filter { nearest, linear };
enum class mag_filter { nearest, linear };
enum class min_filter { nearest, linear };
enum class mip_filter { none, nearest, linear };
enum class compare_func { none, less, less_equal, greater, greater_equal, equal, not_equal, always, never };
enum class border_color { transparent_black, opaque_black, opaque_white };

struct max_anisotropy {
  int __value;
  template <int = 0>
  __MSL_INLINE constexpr explicit max_anisotropy(int value) : __value(value) {}
};
struct lod_clamp {
  float __min, __max;
  template <int = 0>
  __MSL_INLINE constexpr lod_clamp(float min, float max) : __min(min), __max(max) {}
};

namespace __d {
// A state word with one option changed. The default is nearest, clamped to the edge, normalized, compare never, all levels.
constexpr ulong sampler_default = 0x807bff0000080049ul;
template <class E>
__MSL_INLINE constexpr ulong with_field(ulong word, int shift, int bits, E value) {
  const ulong mask = ((1ul << bits) - 1) << shift;
  return (word & ~mask) | (((ulong)value << shift) & mask);
}
// The border is code 0; the color says which.
template <class A>
__MSL_INLINE constexpr ulong with_address(ulong word, int shift, A mode) {
  return with_field(word, shift, 3, (int)mode == 4 ? 0 : (int)mode);
}
__MSL_LAZY constexpr ulong with(ulong word, coord c) { return with_field(word, 15, 1, c); }
__MSL_LAZY constexpr ulong with(ulong word, s_address a) { return with_address(word, 0, a); }
__MSL_LAZY constexpr ulong with(ulong word, t_address a) { return with_address(word, 3, a); }
__MSL_LAZY constexpr ulong with(ulong word, r_address a) { return with_address(word, 6, a); }
__MSL_LAZY constexpr ulong with(ulong word, address a) {
  return with_address(with_address(with_address(word, 0, a), 3, a), 6, a);
}
__MSL_LAZY constexpr ulong with(ulong word, mag_filter f) { return with_field(word, 9, 2, f); }
__MSL_LAZY constexpr ulong with(ulong word, min_filter f) { return with_field(word, 11, 2, f); }
__MSL_LAZY constexpr ulong with(ulong word, filter f) { return with_field(with_field(word, 9, 2, f), 11, 2, f); }
__MSL_LAZY constexpr ulong with(ulong word, mip_filter f) { return with_field(word, 13, 2, f); }
__MSL_LAZY constexpr ulong with(ulong word, compare_func f) { return with_field(word, 16, 4, f); }
__MSL_LAZY constexpr ulong with(ulong word, border_color c) { return with_field(word, 56, 2, c); }
__MSL_LAZY constexpr ulong with(ulong word, max_anisotropy n) {
  return with_field(word, 20, 4, (n.__value < 1 ? 1 : n.__value > 16 ? 16 : n.__value) - 1);
}
__MSL_LAZY constexpr ulong half_bits(float value) { return __builtin_bit_cast(ushort, (half)value); }
__MSL_LAZY constexpr ulong with(ulong word, lod_clamp c) {
  return with_field(with_field(word, 24, 16, half_bits(c.__min)), 40, 16, half_bits(c.__max < 65504.0f ? c.__max : 65504.0f));
}
template <class... O>
__MSL_INLINE constexpr ulong sampler_word(O... options) {
  ulong word = sampler_default;
  ((word = with(word, options)), ...);
  return word;
}
} // namespace __d

struct sampler {
  constant __air_sampler_t* __p;

  // Clang folds the conversion of a number to an address in constant expressions only under this builtin.
#define __MSL_ADDRESS(word) reinterpret_cast<constant __air_sampler_t*>(word)
  template <class... O>
  __MSL_INLINE constexpr sampler(O... options)
      : __p(__builtin_constant_p(__MSL_ADDRESS(__d::sampler_word(options...))) ? __MSL_ADDRESS(__d::sampler_word(options...))
                                                                               : __MSL_ADDRESS(__d::sampler_word(options...))) {}
#undef __MSL_ADDRESS
};

} // namespace metal
