// `metal_texture`: textures of every dimension, depth textures, their options of sampling.
//
// A texture is an opaque pointer. AIR's functions are static members of one class for each kind and component type, so that a
// kernel pays for those that it uses. They return colors as they are; the bridge gives them AIR's result, a color and a byte.
// In a kernel the level of detail is 0 unless given: `bias` has no effect.
#pragma once
#pragma clang system_header
#include "compute.h"
#include "sampler.h"

struct __air_texture_t;

namespace metal {

enum class access { sample, read, write, read_write };
enum class component { x, y, z, w };

struct level {
  float __value;
  template <int = 0>
  __MSL_INLINE constexpr explicit level(float value) : __value(value) {}
};
struct bias {
  float __value;
  template <int = 0>
  __MSL_INLINE constexpr explicit bias(float value) : __value(value) {}
};
struct min_lod_clamp {
  float __value;
  template <int = 0>
  __MSL_INLINE constexpr explicit min_lod_clamp(float value) : __value(value) {}
};
struct gradient2d {
  vec<float, 2> __x, __y;
  template <int = 0>
  __MSL_INLINE explicit gradient2d(vec<float, 2> x, vec<float, 2> y) : __x(x), __y(y) {}
};
struct gradient3d {
  vec<float, 3> __x, __y;
  template <int = 0>
  __MSL_INLINE explicit gradient3d(vec<float, 3> x, vec<float, 3> y) : __x(x), __y(y) {}
};

} // namespace metal

namespace __air {

typedef device __air_texture_t* texture_handle;
typedef constant __air_sampler_t* sampler_handle;
using metal::__d::raw;
using metal::__d::raw_tag;
sampler_handle get_read_sampler() __MSL_PURE("air.get_read_sampler");

// What the options of a sample say. `Offset` is int, int2 or int3; `Gradient` is void where there is none.
template <class Offset, class Gradient>
struct sample_options {
  Offset offset = Offset(0);
  bool is_level = false;
  float level = 0.0f, min_level = 0.0f;
  __MSL_INLINE void set(metal::level l) { is_level = true, level = l.__value; }
  __MSL_INLINE void set(metal::bias b) { level = b.__value; }
  __MSL_INLINE void set(metal::min_lod_clamp m) { min_level = m.__value; }
  __MSL_INLINE void set(Offset o) { offset = o; }
  template <class G>
  __MSL_INLINE void set(G) { static_assert(__is_same(G, Gradient), "this texture has no such option of sampling"); }
};
template <class Gradient, class... O>
constexpr bool has_gradient = (__is_same(O, Gradient) || ...);
template <class Gradient>
__MSL_INLINE Gradient gradient_of(Gradient g) { return g; }
template <class Gradient, class First, class... O>
__MSL_INLINE Gradient gradient_of(First first, O... rest) {
  if constexpr (__is_same(First, Gradient)) return first;
  else return gradient_of<Gradient>(rest...);
}

// Raw operands of a kind: position, coordinate of samples, and, with their commas, face, layer, offset, level.
#define __MSL_POSITION_texture_1d uint
#define __MSL_POSITION_texture_1d_array uint
#define __MSL_POSITION_texture_2d raw<uint, 2>
#define __MSL_POSITION_texture_2d_array raw<uint, 2>
#define __MSL_POSITION_texture_3d raw<uint, 3>
#define __MSL_POSITION_texture_cube raw<uint, 2>
#define __MSL_POSITION_texture_cube_array raw<uint, 2>
#define __MSL_COORD_texture_1d float
#define __MSL_COORD_texture_1d_array float
#define __MSL_COORD_texture_2d raw<float, 2>
#define __MSL_COORD_texture_2d_array raw<float, 2>
#define __MSL_COORD_texture_3d raw<float, 3>
#define __MSL_COORD_texture_cube raw<float, 3>
#define __MSL_COORD_texture_cube_array raw<float, 3>
#define __MSL_FACE_texture_1d
#define __MSL_FACE_texture_1d_array
#define __MSL_FACE_texture_2d
#define __MSL_FACE_texture_2d_array
#define __MSL_FACE_texture_3d
#define __MSL_FACE_texture_cube uint,
#define __MSL_FACE_texture_cube_array uint,
#define __MSL_LAYER_texture_1d
#define __MSL_LAYER_texture_1d_array uint,
#define __MSL_LAYER_texture_2d
#define __MSL_LAYER_texture_2d_array uint,
#define __MSL_LAYER_texture_3d
#define __MSL_LAYER_texture_cube
#define __MSL_LAYER_texture_cube_array uint,
#define __MSL_OFFSET_texture_1d bool, int,
#define __MSL_OFFSET_texture_1d_array bool, int,
#define __MSL_OFFSET_texture_2d bool, raw<int, 2>,
#define __MSL_OFFSET_texture_2d_array bool, raw<int, 2>,
#define __MSL_OFFSET_texture_3d bool, raw<int, 3>,
#define __MSL_OFFSET_texture_cube
#define __MSL_OFFSET_texture_cube_array
#define __MSL_READ_OFFSET_texture_1d uint,
#define __MSL_READ_OFFSET_texture_1d_array uint,
#define __MSL_READ_OFFSET_texture_2d raw<uint, 2>,
#define __MSL_READ_OFFSET_texture_2d_array raw<uint, 2>,
#define __MSL_READ_OFFSET_texture_3d raw<uint, 3>,
#define __MSL_READ_OFFSET_texture_cube
#define __MSL_READ_OFFSET_texture_cube_array

#define __MSL_READS(name) __asm(name) __attribute__((pure, nothrow))
#define __MSL_SAMPLES(name) __asm(name) __attribute__((pure, convergent, nothrow))

// The functions of one kind and component type.
#define __MSL_DECLARE(kind, T, t)                                                                                      \
  template <>                                                                                                          \
  struct kind<T> {                                                                                                     \
    static raw<T, 4> read(                                                                                             \
        texture_handle, sampler_handle, __MSL_POSITION_##kind,                                                         \
        __MSL_FACE_##kind __MSL_LAYER_##kind __MSL_READ_OFFSET_##kind uint, int) __MSL_READS("air.read_" #kind "." t); \
    static void write(                                                                                                 \
        texture_handle, __MSL_POSITION_##kind, __MSL_FACE_##kind __MSL_LAYER_##kind raw<T, 4>, uint, int)              \
        __MSL_EFFECT("air.write_" #kind "." t);                                                                        \
    static raw<T, 4> sample(                                                                                           \
        texture_handle, sampler_handle, __MSL_COORD_##kind,                                                            \
        __MSL_LAYER_##kind __MSL_OFFSET_##kind bool, float, float, int) __MSL_SAMPLES("air.sample_" #kind "." t);      \
    static raw<T, 4> sample_gradient(                                                                                  \
        texture_handle, sampler_handle, __MSL_COORD_##kind,                                                            \
        __MSL_LAYER_##kind __MSL_COORD_##kind, __MSL_COORD_##kind, float, __MSL_OFFSET_##kind int)                     \
        __MSL_READS("air.sample_" #kind "_grad." t);                                                                   \
    static raw<T, 4> gather(                                                                                           \
        texture_handle, sampler_handle, __MSL_COORD_##kind, __MSL_LAYER_##kind __MSL_OFFSET_##kind int, int)           \
        __MSL_READS("air.gather_" #kind "." t);                                                                        \
  };
#define __MSL_DECLARE_KIND(kind)                                                                                       \
  template <class T>                                                                                                   \
  struct kind;                                                                                                         \
  __MSL_DECLARE(kind, float, "v4f32")                                                                                  \
  __MSL_DECLARE(kind, half, "v4f16")                                                                                   \
  __MSL_DECLARE(kind, int, "s.v4i32")                                                                                  \
  __MSL_DECLARE(kind, uint, "u.v4i32")                                                                                 \
  __MSL_DECLARE(kind, short, "s.v4i16")                                                                                \
  __MSL_DECLARE(kind, ushort, "u.v4i16")
__MSL_DECLARE_KIND(texture_1d)
__MSL_DECLARE_KIND(texture_1d_array)
__MSL_DECLARE_KIND(texture_2d)
__MSL_DECLARE_KIND(texture_2d_array)
__MSL_DECLARE_KIND(texture_3d)
__MSL_DECLARE_KIND(texture_cube)
__MSL_DECLARE_KIND(texture_cube_array)
#undef __MSL_DECLARE
#undef __MSL_DECLARE_KIND

template <class T>
struct texture_buffer_1d;
#define __MSL_DECLARE(T, t)                                                                                            \
  template <>                                                                                                          \
  struct texture_buffer_1d<T> {                                                                                        \
    static raw<T, 4> read(texture_handle, sampler_handle, uint, int) __MSL_READS("air.read_texture_buffer_1d." t);     \
    static void write(texture_handle, uint, raw<T, 4>, int) __MSL_EFFECT("air.write_texture_buffer_1d." t);            \
  };
__MSL_DECLARE(float, "v4f32")
__MSL_DECLARE(half, "v4f16")
__MSL_DECLARE(int, "s.v4i32")
__MSL_DECLARE(uint, "u.v4i32")
__MSL_DECLARE(short, "s.v4i16")
__MSL_DECLARE(ushort, "u.v4i16")
#undef __MSL_DECLARE

// Depth textures; AIR marks their functions by a 1 behind the sampler.
#define __MSL_DECLARE(kind, like)                                                                                      \
  struct kind {                                                                                                        \
    static float read(                                                                                                 \
        texture_handle, sampler_handle, int, __MSL_POSITION_##like,                                                    \
        __MSL_FACE_##like __MSL_LAYER_##like __MSL_READ_OFFSET_##like uint, int) __MSL_READS("air.read_" #kind ".f32"); \
    static float sample(                                                                                               \
        texture_handle, sampler_handle, int, __MSL_COORD_##like,                                                       \
        __MSL_LAYER_##like __MSL_OFFSET_##like bool, float, float, int) __MSL_SAMPLES("air.sample_" #kind ".f32");     \
    static float sample_gradient(                                                                                      \
        texture_handle, sampler_handle, int, __MSL_COORD_##like,                                                       \
        __MSL_LAYER_##like __MSL_COORD_##like, __MSL_COORD_##like, float, __MSL_OFFSET_##like int)                     \
        __MSL_READS("air.sample_" #kind "_grad.f32");                                                                  \
    static float sample_compare(                                                                                       \
        texture_handle, sampler_handle, int, __MSL_COORD_##like,                                                       \
        __MSL_LAYER_##like float, __MSL_OFFSET_##like bool, float, float, int)                                         \
        __MSL_SAMPLES("air.sample_compare_" #kind ".f32");                                                             \
    static float sample_compare_gradient(                                                                              \
        texture_handle, sampler_handle, int, __MSL_COORD_##like,                                                       \
        __MSL_LAYER_##like float, __MSL_COORD_##like, __MSL_COORD_##like, float, __MSL_OFFSET_##like int)              \
        __MSL_READS("air.sample_compare_" #kind "_grad.f32");                                                          \
    static raw<float, 4> gather(                                                                                       \
        texture_handle, sampler_handle, int, __MSL_COORD_##like, __MSL_LAYER_##like __MSL_OFFSET_##like int)           \
        __MSL_READS("air.gather_" #kind ".v4f32");                                                                     \
    static raw<float, 4> gather_compare(                                                                               \
        texture_handle, sampler_handle, int, __MSL_COORD_##like, __MSL_LAYER_##like float, __MSL_OFFSET_##like int)    \
        __MSL_READS("air.gather_compare_" #kind ".f32");                                                               \
  };
__MSL_DECLARE(depth_2d, texture_2d)
__MSL_DECLARE(depth_2d_array, texture_2d_array)
__MSL_DECLARE(depth_cube, texture_cube)
__MSL_DECLARE(depth_cube_array, texture_cube_array)
#undef __MSL_DECLARE

// Sizes and fences, which do not depend on the component type.
#define __MSL_DECLARE(kind)                                                                                            \
  uint get_width_##kind(texture_handle, uint) __MSL_READS("air.get_width_" #kind);                                     \
  uint get_height_##kind(texture_handle, uint) __MSL_READS("air.get_height_" #kind);                                   \
  uint get_depth_##kind(texture_handle, uint) __MSL_READS("air.get_depth_" #kind);                                     \
  uint get_array_size_##kind(texture_handle) __MSL_READS("air.get_array_size_" #kind);                                 \
  uint get_num_mip_levels_##kind(texture_handle) __MSL_READS("air.get_num_mip_levels_" #kind);                         \
  bool is_null_##kind(texture_handle) __MSL_READS("air.is_null_" #kind);                                               \
  void fence_##kind(texture_handle) __MSL_EFFECT("air.fence_" #kind);
__MSL_DECLARE(texture_1d)
__MSL_DECLARE(texture_1d_array)
__MSL_DECLARE(texture_2d)
__MSL_DECLARE(texture_2d_array)
__MSL_DECLARE(texture_3d)
__MSL_DECLARE(texture_cube)
__MSL_DECLARE(texture_cube_array)
__MSL_DECLARE(depth_2d)
__MSL_DECLARE(depth_2d_array)
__MSL_DECLARE(depth_cube)
__MSL_DECLARE(depth_cube_array)
#undef __MSL_DECLARE
uint get_width_texture_buffer_1d(texture_handle) __MSL_READS("air.get_width_texture_buffer_1d");
bool is_null_texture_buffer_1d(texture_handle) __MSL_READS("air.is_null_texture_buffer_1d");
void fence_texture_buffer_1d(texture_handle) __MSL_EFFECT("air.fence_texture_buffer_1d");

// Atomic functions of one kind and component type: int or uint.
#define __MSL_POSITION_texture_buffer_1d uint
#define __MSL_LAYER_texture_buffer_1d
#define __MSL_ATOMIC(op, kind, T, t)                                                                                   \
  static raw<T, 4> op(texture_handle, __MSL_POSITION_##kind, __MSL_LAYER_##kind raw<T, 4>, int, int)                   \
      __MSL_EFFECT("air.atomic_" #op "_explicit_" #kind "." t);
#define __MSL_DECLARE(kind, T, t)                                                                                      \
  template <>                                                                                                          \
  struct kind##_atomics<T> {                                                                                           \
    static raw<T, 4> load(texture_handle, __MSL_POSITION_##kind, __MSL_LAYER_##kind int, int)                          \
        __MSL_EFFECT("air.atomic_load_explicit_" #kind "." t);                                                         \
    static void store(texture_handle, raw<T, 4>, __MSL_POSITION_##kind, __MSL_LAYER_##kind int, int)                   \
        __MSL_EFFECT("air.atomic_store_explicit_" #kind "." t);                                                        \
    static bool compare_exchange_weak(                                                                                 \
        texture_handle, __MSL_POSITION_##kind, __MSL_LAYER_##kind thread void*, raw<T, 4>, int, int, int)              \
        __MSL_EFFECT("air.atomic_compare_exchange_weak_explicit_" #kind "." t);                                        \
    __MSL_ATOMIC(exchange, kind, T, t)                                                                                 \
    __MSL_ATOMIC(fetch_add, kind, T, t)                                                                                \
    __MSL_ATOMIC(fetch_sub, kind, T, t)                                                                                \
    __MSL_ATOMIC(fetch_min, kind, T, t)                                                                                \
    __MSL_ATOMIC(fetch_max, kind, T, t)                                                                                \
    __MSL_ATOMIC(fetch_and, kind, T, t)                                                                                \
    __MSL_ATOMIC(fetch_or, kind, T, t)                                                                                 \
    __MSL_ATOMIC(fetch_xor, kind, T, t)                                                                                \
  };
#define __MSL_DECLARE_KIND(kind)                                                                                       \
  template <class T>                                                                                                   \
  struct kind##_atomics;                                                                                               \
  __MSL_DECLARE(kind, int, "s.v4i32")                                                                                  \
  __MSL_DECLARE(kind, uint, "u.v4i32")
__MSL_DECLARE_KIND(texture_1d)
__MSL_DECLARE_KIND(texture_1d_array)
__MSL_DECLARE_KIND(texture_2d)
__MSL_DECLARE_KIND(texture_2d_array)
__MSL_DECLARE_KIND(texture_3d)
__MSL_DECLARE_KIND(texture_buffer_1d)
#undef __MSL_DECLARE_KIND
#undef __MSL_DECLARE
#undef __MSL_ATOMIC

// What takes the place of offsets and gradients that a texture does not have.
struct no_offset {
  template <int = 0>
  __MSL_INLINE constexpr explicit no_offset(int) {}
};
struct no_gradient {};

} // namespace __air

namespace metal {

// X, but not before T is known: what a template says about types that do not depend on its parameters is instantiated in the
// precompiled header, and clang reads that in each compile.
namespace __d {
template <class X, class T>
struct late {
  typedef X type;
};
} // namespace __d
#define __MSL_LATE(X) typename __d::late<X, T>::type

// What follows a position or coordinate, as parameters and as arguments: nothing, the element of an array, the face of a cube.
#define __MSL_PARAMETERS_NONE
#define __MSL_PARAMETERS_ARRAY , uint array
#define __MSL_PARAMETERS_FACE , uint face
#define __MSL_PARAMETERS_FACE_ARRAY , uint face, uint array
#define __MSL_PASS_NONE
#define __MSL_PASS_ARRAY array,
#define __MSL_PASS_FACE face,
#define __MSL_PASS_FACE_ARRAY face, array,
// Offsets of samples and of reads.
#define __MSL_NO_OFFSET
#define __MSL_PASS_OFFSET true, o.offset.__v,
#define __MSL_PASS_OFFSET1 false, o.offset,
#define __MSL_ZERO1 0u,
#define __MSL_ZERO2 __d::raw<uint, 2>{},
#define __MSL_ZERO3 __d::raw<uint, 3>{},

// What the access of a texture's type forbids.
#define __MSL_UNLESS(condition, text) __attribute__((diagnose_if(!(condition), text, "error")))
#define __MSL_MAY_READ __MSL_UNLESS(A != access::write, "a texture of access::write cannot be read")
#define __MSL_MAY_WRITE                                                                                                \
  __MSL_UNLESS(                                                                                                        \
      A == access::write || A == access::read_write, "only textures of access::write or access::read_write can be written")
#define __MSL_MAY_SAMPLE __MSL_UNLESS(A == access::sample, "only textures of access::sample can be sampled")

#define __MSL_MEMBERS(kind)                                                                                            \
  typedef __air::kind<T> __ops;                                                                                        \
  __air::texture_handle __t;                                                                                           \
  static __MSL_INLINE vec<T, 4> __color(__d::raw<T, 4> c) { return vec<T, 4>(c, __d::raw_tag()); }                     \
  __MSL_INLINE void fence() const { __air::fence_##kind(__t); }
// Sizes.
#define __MSL_WIDTH(kind)                                                                                              \
  __MSL_INLINE uint get_width(uint lod = 0) const { return __air::get_width_##kind(__t, lod); }
#define __MSL_HEIGHT(kind)                                                                                             \
  __MSL_INLINE uint get_height(uint lod = 0) const { return __air::get_height_##kind(__t, lod); }
#define __MSL_LEVELS(kind)                                                                                             \
  __MSL_INLINE uint get_num_mip_levels() const { return __air::get_num_mip_levels_##kind(__t); }
#define __MSL_LENGTH(kind)                                                                                             \
  __MSL_INLINE uint get_array_size() const { return __air::get_array_size_##kind(__t); }

// read and write at Position, whose raw form is `raw_position` of p.
#define __MSL_READ_WRITE(Position, raw_position, behind, read_offset)                                                  \
  __MSL_INLINE vec<T, 4> read(Position p __MSL_PARAMETERS_##behind, uint lod = 0) const __MSL_MAY_READ {               \
    return __color(__ops::read(__t, __air::get_read_sampler(), raw_position, __MSL_PASS_##behind read_offset lod, (int)A)); \
  }                                                                                                                    \
  __MSL_INLINE void write(vec<T, 4> color, Position p __MSL_PARAMETERS_##behind, uint lod = 0) const __MSL_MAY_WRITE { \
    __ops::write(__t, raw_position, __MSL_PASS_##behind color.__v, lod, (int)A);                                       \
  }
// The same with 16-bit positions.
#define __MSL_READ_WRITE_SHORT(Short, Position, behind)                                                                \
  __MSL_INLINE vec<T, 4> read(Short p __MSL_PARAMETERS_##behind, uint lod = 0) const { return read(__MSL_LATE(Position)(p), __MSL_PASS_##behind lod); } \
  __MSL_INLINE void write(vec<T, 4> color, Short p __MSL_PARAMETERS_##behind, uint lod = 0) const {                    \
    write(color, __MSL_LATE(Position)(p), __MSL_PASS_##behind lod);                                                    \
  }
#define __MSL_SAMPLE(Coord, raw_coord, behind, offset_arguments, Offset, Gradient)                                     \
  template <class... O>                                                                                                \
  __MSL_INLINE vec<T, 4> sample(sampler s, Coord c __MSL_PARAMETERS_##behind, O... options) const __MSL_MAY_SAMPLE {   \
    __air::sample_options<__MSL_LATE(Offset), Gradient> o;                                                                         \
    (o.set(options), ...);                                                                                             \
    if constexpr (__air::has_gradient<Gradient, O...>) {                                                               \
      const auto g = __air::gradient_of<Gradient>(options...);                                                         \
      return __color(__ops::sample_gradient(                                                                           \
          __t, s.__p, raw_coord, __MSL_PASS_##behind g.__x.__v, g.__y.__v, o.min_level, offset_arguments 0));          \
    } else {                                                                                                           \
      return __color(                                                                                                  \
          __ops::sample(__t, s.__p, raw_coord, __MSL_PASS_##behind offset_arguments o.is_level, o.level, o.min_level, 0)); \
    }                                                                                                                  \
  }
#define __MSL_GATHER(Coord, behind)                                                                                    \
  __MSL_INLINE vec<T, 4> gather(                                                                                       \
      sampler s, Coord c __MSL_PARAMETERS_##behind, int2 offset = __MSL_LATE(int2)(0), component which = component::x) const __MSL_MAY_SAMPLE { \
    return __color(__ops::gather(__t, s.__p, c.__v, __MSL_PASS_##behind true, offset.__v, (int)which, 0));             \
  }
#define __MSL_GATHER_CUBE(behind)                                                                                      \
  __MSL_INLINE vec<T, 4> gather(sampler s, float3 c __MSL_PARAMETERS_##behind, component which = component::x) const __MSL_MAY_SAMPLE { \
    return __color(__ops::gather(__t, s.__p, c.__v, __MSL_PASS_##behind (int)which, 0));                               \
  }
#define __MSL_ATOMIC(op, kind, Position, raw_position, behind)                                                         \
  __MSL_INLINE vec<T, 4> atomic_##op(Position p __MSL_PARAMETERS_##behind, vec<T, 4> value) const __MSL_MAY_WRITE {    \
    return __color(__air::kind##_atomics<T>::op(__t, raw_position, __MSL_PASS_##behind value.__v, 0, (int)A));         \
  }
#define __MSL_ATOMICS(kind, Position, raw_position, behind)                                                            \
  __MSL_INLINE vec<T, 4> atomic_load(Position p __MSL_PARAMETERS_##behind) const __MSL_MAY_READ {                      \
    return __color(__air::kind##_atomics<T>::load(__t, raw_position, __MSL_PASS_##behind 0, (int)A));                  \
  }                                                                                                                    \
  __MSL_INLINE void atomic_store(vec<T, 4> value, Position p __MSL_PARAMETERS_##behind) const __MSL_MAY_WRITE {        \
    __air::kind##_atomics<T>::store(__t, value.__v, raw_position, __MSL_PASS_##behind 0, (int)A);                      \
  }                                                                                                                    \
  __MSL_INLINE bool atomic_compare_exchange_weak(                                                                      \
      Position p __MSL_PARAMETERS_##behind, thread vec<T, 4>* expected, vec<T, 4> desired) const __MSL_MAY_WRITE {     \
    return __air::kind##_atomics<T>::compare_exchange_weak(                                                            \
        __t, raw_position, __MSL_PASS_##behind expected, desired.__v, 0, 0, (int)A);                                   \
  }                                                                                                                    \
  __MSL_ATOMIC(exchange, kind, Position, raw_position, behind)                                                         \
  __MSL_ATOMIC(fetch_add, kind, Position, raw_position, behind)                                                        \
  __MSL_ATOMIC(fetch_sub, kind, Position, raw_position, behind)                                                        \
  __MSL_ATOMIC(fetch_min, kind, Position, raw_position, behind)                                                        \
  __MSL_ATOMIC(fetch_max, kind, Position, raw_position, behind)                                                        \
  __MSL_ATOMIC(fetch_and, kind, Position, raw_position, behind)                                                        \
  __MSL_ATOMIC(fetch_or, kind, Position, raw_position, behind)                                                         \
  __MSL_ATOMIC(fetch_xor, kind, Position, raw_position, behind)

template <class T, access A = access::sample>
struct texture1d {
  __MSL_MEMBERS(texture_1d)
  __MSL_WIDTH(texture_1d)
  __MSL_LEVELS(texture_1d)
  __MSL_READ_WRITE(uint, p, NONE, __MSL_ZERO1)
  __MSL_SAMPLE(float, c, NONE, __MSL_PASS_OFFSET1, int, __air::no_gradient)
  __MSL_ATOMICS(texture_1d, uint, p, NONE)
};

template <class T, access A = access::sample>
struct texture1d_array {
  __MSL_MEMBERS(texture_1d_array)
  __MSL_WIDTH(texture_1d_array)
  __MSL_LEVELS(texture_1d_array)
  __MSL_LENGTH(texture_1d_array)
  __MSL_READ_WRITE(uint, p, ARRAY, __MSL_ZERO1)
  __MSL_SAMPLE(float, c, ARRAY, __MSL_PASS_OFFSET1, int, __air::no_gradient)
  __MSL_ATOMICS(texture_1d_array, uint, p, ARRAY)
};

template <class T, access A = access::sample>
struct texture2d {
  __MSL_MEMBERS(texture_2d)
  __MSL_WIDTH(texture_2d)
  __MSL_HEIGHT(texture_2d)
  __MSL_LEVELS(texture_2d)
  __MSL_READ_WRITE(uint2, p.__v, NONE, __MSL_ZERO2)
  __MSL_READ_WRITE_SHORT(ushort2, uint2, NONE)
  __MSL_SAMPLE(float2, c.__v, NONE, __MSL_PASS_OFFSET, int2, gradient2d)
  __MSL_GATHER(float2, NONE)
  __MSL_ATOMICS(texture_2d, uint2, p.__v, NONE)
};

template <class T, access A = access::sample>
struct texture2d_array {
  __MSL_MEMBERS(texture_2d_array)
  __MSL_WIDTH(texture_2d_array)
  __MSL_HEIGHT(texture_2d_array)
  __MSL_LEVELS(texture_2d_array)
  __MSL_LENGTH(texture_2d_array)
  __MSL_READ_WRITE(uint2, p.__v, ARRAY, __MSL_ZERO2)
  __MSL_READ_WRITE_SHORT(ushort2, uint2, ARRAY)
  __MSL_SAMPLE(float2, c.__v, ARRAY, __MSL_PASS_OFFSET, int2, gradient2d)
  __MSL_GATHER(float2, ARRAY)
  __MSL_ATOMICS(texture_2d_array, uint2, p.__v, ARRAY)
};

template <class T, access A = access::sample>
struct texture3d {
  __MSL_MEMBERS(texture_3d)
  __MSL_WIDTH(texture_3d)
  __MSL_HEIGHT(texture_3d)
  __MSL_LEVELS(texture_3d)
  __MSL_INLINE uint get_depth(uint lod = 0) const { return __air::get_depth_texture_3d(__t, lod); }
  __MSL_READ_WRITE(uint3, p.__v, NONE, __MSL_ZERO3)
  __MSL_READ_WRITE_SHORT(ushort3, uint3, NONE)
  __MSL_SAMPLE(float3, c.__v, NONE, __MSL_PASS_OFFSET, int3, gradient3d)
  __MSL_ATOMICS(texture_3d, uint3, p.__v, NONE)
};

template <class T, access A = access::sample>
struct texturecube {
  __MSL_MEMBERS(texture_cube)
  __MSL_WIDTH(texture_cube)
  __MSL_HEIGHT(texture_cube)
  __MSL_LEVELS(texture_cube)
  __MSL_READ_WRITE(uint2, p.__v, FACE, __MSL_NO_OFFSET)
  __MSL_READ_WRITE_SHORT(ushort2, uint2, FACE)
  __MSL_SAMPLE(float3, c.__v, NONE, __MSL_NO_OFFSET, __air::no_offset, __air::no_gradient)
  __MSL_GATHER_CUBE(NONE)
};

template <class T, access A = access::sample>
struct texturecube_array {
  __MSL_MEMBERS(texture_cube_array)
  __MSL_WIDTH(texture_cube_array)
  __MSL_HEIGHT(texture_cube_array)
  __MSL_LEVELS(texture_cube_array)
  __MSL_LENGTH(texture_cube_array)
  __MSL_READ_WRITE(uint2, p.__v, FACE_ARRAY, __MSL_NO_OFFSET)
  __MSL_READ_WRITE_SHORT(ushort2, uint2, FACE_ARRAY)
  __MSL_SAMPLE(float3, c.__v, ARRAY, __MSL_NO_OFFSET, __air::no_offset, __air::no_gradient)
  __MSL_GATHER_CUBE(ARRAY)
};

template <class T, access A = access::read>
struct texture_buffer {
  __MSL_MEMBERS(texture_buffer_1d)
  __MSL_INLINE uint get_width() const { return __air::get_width_texture_buffer_1d(__t); }
  __MSL_INLINE vec<T, 4> read(uint p) const __MSL_MAY_READ {
    return __color(__ops::read(__t, __air::get_read_sampler(), p, (int)A));
  }
  __MSL_INLINE void write(vec<T, 4> color, uint p) const __MSL_MAY_WRITE {
    __ops::write(__t, p, color.__v, (int)A);
  }
  __MSL_ATOMICS(texture_buffer_1d, uint, p, NONE)
};

// Depth textures.
#define __MSL_DEPTH_MEMBERS(kind, behind, read_offset)                                                                 \
  static_assert(__is_same(T, float), "depth textures have components of type float");                                  \
  typedef __air::kind __ops;                                                                                           \
  __air::texture_handle __t;                                                                                           \
  __MSL_WIDTH(kind)                                                                                                    \
  __MSL_HEIGHT(kind)                                                                                                   \
  __MSL_LEVELS(kind)                                                                                                   \
  __MSL_INLINE float read(uint2 p __MSL_PARAMETERS_##behind, uint lod = 0) const {                                     \
    return __ops::read(__t, __air::get_read_sampler(), 1, p.__v, __MSL_PASS_##behind read_offset lod, (int)A);         \
  }                                                                                                                    \
  __MSL_INLINE float read(ushort2 p __MSL_PARAMETERS_##behind, uint lod = 0) const { return read(__MSL_LATE(uint2)(p), __MSL_PASS_##behind lod); }
#define __MSL_DEPTH_SAMPLE(Coord, behind, offset_arguments, Offset, Gradient)                                          \
  template <class... O>                                                                                                \
  __MSL_INLINE float sample(sampler s, Coord c __MSL_PARAMETERS_##behind, O... options) const __MSL_MAY_SAMPLE {       \
    __air::sample_options<__MSL_LATE(Offset), Gradient> o;                                                                         \
    (o.set(options), ...);                                                                                             \
    if constexpr (__air::has_gradient<Gradient, O...>) {                                                               \
      const auto g = __air::gradient_of<Gradient>(options...);                                                         \
      return __ops::sample_gradient(                                                                                   \
          __t, s.__p, 1, c.__v, __MSL_PASS_##behind g.__x.__v, g.__y.__v, o.min_level, offset_arguments 0);            \
    } else {                                                                                                           \
      return __ops::sample(__t, s.__p, 1, c.__v, __MSL_PASS_##behind offset_arguments o.is_level, o.level, o.min_level, 0); \
    }                                                                                                                  \
  }                                                                                                                    \
  template <class... O>                                                                                                \
  __MSL_INLINE float sample_compare(sampler s, Coord c __MSL_PARAMETERS_##behind, float value, O... options) const __MSL_MAY_SAMPLE { \
    __air::sample_options<__MSL_LATE(Offset), Gradient> o;                                                                         \
    (o.set(options), ...);                                                                                             \
    if constexpr (__air::has_gradient<Gradient, O...>) {                                                               \
      const auto g = __air::gradient_of<Gradient>(options...);                                                         \
      return __ops::sample_compare_gradient(                                                                           \
          __t, s.__p, 1, c.__v, __MSL_PASS_##behind value, g.__x.__v, g.__y.__v, o.min_level, offset_arguments 0);     \
    } else {                                                                                                           \
      return __ops::sample_compare(                                                                                    \
          __t, s.__p, 1, c.__v, __MSL_PASS_##behind value, offset_arguments o.is_level, o.level, o.min_level, 0);      \
    }                                                                                                                  \
  }
#define __MSL_DEPTH_GATHER(behind)                                                                                     \
  __MSL_INLINE float4 gather(sampler s, float2 c __MSL_PARAMETERS_##behind, int2 offset = __MSL_LATE(int2)(0)) const __MSL_MAY_SAMPLE { \
    return __MSL_LATE(float4)(__ops::gather(__t, s.__p, 1, c.__v, __MSL_PASS_##behind true, offset.__v, 0), __d::raw_tag()); \
  }                                                                                                                    \
  __MSL_INLINE float4 gather_compare(sampler s, float2 c __MSL_PARAMETERS_##behind, float value, int2 offset = __MSL_LATE(int2)(0)) const __MSL_MAY_SAMPLE { \
    return __MSL_LATE(float4)(                                                                                         \
        __ops::gather_compare(__t, s.__p, 1, c.__v, __MSL_PASS_##behind value, true, offset.__v, 0), __d::raw_tag());  \
  }
#define __MSL_DEPTH_GATHER_CUBE(behind)                                                                                \
  __MSL_INLINE float4 gather(sampler s, float3 c __MSL_PARAMETERS_##behind) const __MSL_MAY_SAMPLE {                   \
    return __MSL_LATE(float4)(__ops::gather(__t, s.__p, 1, c.__v, __MSL_PASS_##behind 0), __d::raw_tag());             \
  }                                                                                                                    \
  __MSL_INLINE float4 gather_compare(sampler s, float3 c __MSL_PARAMETERS_##behind, float value) const __MSL_MAY_SAMPLE { \
    return __MSL_LATE(float4)(__ops::gather_compare(__t, s.__p, 1, c.__v, __MSL_PASS_##behind value, 0), __d::raw_tag()); \
  }

template <class T, access A = access::sample>
struct depth2d {
  __MSL_DEPTH_MEMBERS(depth_2d, NONE, __MSL_ZERO2)
  __MSL_DEPTH_SAMPLE(float2, NONE, __MSL_PASS_OFFSET, int2, gradient2d)
  __MSL_DEPTH_GATHER(NONE)
};
template <class T, access A = access::sample>
struct depth2d_array {
  __MSL_DEPTH_MEMBERS(depth_2d_array, ARRAY, __MSL_ZERO2)
  __MSL_LENGTH(depth_2d_array)
  __MSL_DEPTH_SAMPLE(float2, ARRAY, __MSL_PASS_OFFSET, int2, gradient2d)
  __MSL_DEPTH_GATHER(ARRAY)
};
template <class T, access A = access::sample>
struct depthcube {
  __MSL_DEPTH_MEMBERS(depth_cube, FACE, __MSL_NO_OFFSET)
  __MSL_DEPTH_SAMPLE(float3, NONE, __MSL_NO_OFFSET, __air::no_offset, __air::no_gradient)
  __MSL_DEPTH_GATHER_CUBE(NONE)
};
template <class T, access A = access::sample>
struct depthcube_array {
  __MSL_DEPTH_MEMBERS(depth_cube_array, FACE_ARRAY, __MSL_NO_OFFSET)
  __MSL_LENGTH(depth_cube_array)
  __MSL_DEPTH_SAMPLE(float3, ARRAY, __MSL_NO_OFFSET, __air::no_offset, __air::no_gradient)
  __MSL_DEPTH_GATHER_CUBE(ARRAY)
};

#define __MSL_IS_NULL(type, kind)                                                                                      \
  template <class T, access A>                                                                                         \
  __MSL_INLINE bool is_null_texture(type<T, A> t) { return __air::is_null_##kind(t.__t); }
__MSL_IS_NULL(texture1d, texture_1d)
__MSL_IS_NULL(texture1d_array, texture_1d_array)
__MSL_IS_NULL(texture2d, texture_2d)
__MSL_IS_NULL(texture2d_array, texture_2d_array)
__MSL_IS_NULL(texture3d, texture_3d)
__MSL_IS_NULL(texturecube, texture_cube)
__MSL_IS_NULL(texturecube_array, texture_cube_array)
__MSL_IS_NULL(texture_buffer, texture_buffer_1d)
__MSL_IS_NULL(depth2d, depth_2d)
__MSL_IS_NULL(depth2d_array, depth_2d_array)
__MSL_IS_NULL(depthcube, depth_cube)
__MSL_IS_NULL(depthcube_array, depth_cube_array)
#undef __MSL_IS_NULL

} // namespace metal
