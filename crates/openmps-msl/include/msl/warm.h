// Instantiates the vectors that most kernels use, so that the precompiled header holds their members and their copy functions and
// no compile has to make them again. To define a copy function clang reads all members of a class, a thousand with the swizzles.
//
// The precompiled header should be built with -fpch-instantiate-templates: what this file leaves pending is done there once.
#pragma once
#pragma clang system_header
#include "matrix.h"

namespace metal {
namespace __d {
template <class V>
constexpr bool copies() {
  typedef typename V::__element T;
  V a(T(0)), b(a);
  b = a;
  return true;
}
template <class T>
constexpr bool warm = copies<vec<T, 2>>() && copies<vec<T, 3>>() && copies<vec<T, 4>>();
static_assert(warm<float> && warm<half> && warm<int> && warm<uint> && warm<bool>, "");
} // namespace __d
} // namespace metal
