// Words of the Metal language that clang does not know, and the attributes that the other parts use.
//
// Address spaces are type attributes of clang's SYCL-device mode, where an unqualified pointer or reference is generic and
// accepts every space, as a Metal member function does. `constant` is the host-visible global space and not OpenCL's constant
// space, because the latter does not convert to the generic one: copy constructors would fail on constant objects.
#pragma once
#pragma clang system_header

#define device __attribute__((opencl_global))
#define threadgroup __attribute__((opencl_local))
#define constant const __attribute__((opencl_global_host))
#define thread
#define coherent(...)

// Functions of the stages of graphics compile beside kernels and are no entry points.
#define vertex
#define fragment

#define METAL_FUNC inline __attribute__((always_inline))
#define METAL_ALWAYS_INLINE __attribute__((always_inline))
#define METAL_CONST __attribute__((const))
#define METAL_PURE __attribute__((pure))
#define METAL_INTERNAL __attribute__((internal_linkage))

#define __METAL_MACOS__ 1
#define __HAVE_BFLOAT__ 1
#define __HAVE_SIMDGROUP_MATRIX__ 1
#define __HAVE_SIMDGROUP_REDUCTION__ 1
#define __HAVE_QUADGROUP_REDUCTION__ 1
#define __HAVE_ATOMIC_FLOAT__ 1
#define __HAVE_ATOMIC_ULONG__ 1
#define __HAVE_INT64__ 1
#define __HAVE_TEXTURE_BUFFER__ 1
#define __HAVE_TEXTURE_CUBE_ARRAY__ 1
#define __HAVE_TEXTURE_READWRITE__ 1
#define __HAVE_NULL_TEXTURE__ 1

// Third operand of the `__metal_NAME` functions, which Apple's library exposes and public kernels call.
#define __METAL_FAST_MATH__ true
#define __METAL_PRECISE_MATH__ false
#ifdef __FAST_MATH__
#define __METAL_MAYBE_FAST_MATH__ true
#else
#define __METAL_MAYBE_FAST_MATH__ false
#endif

// A function of this library: always inlined, invisible in debug information.
#define __MSL_INLINE inline __attribute__((always_inline, nodebug))
// A declaration bound to an AIR function: a pure one, one that talks to other threads and must not be moved across control
// flow, and one with effects on memory only.
#define __MSL_PURE(name) __asm(name) __attribute__((const, nothrow))
#define __MSL_CONVERGENT(name) __asm(name) __attribute__((convergent, nothrow))
#define __MSL_EFFECT(name) __asm(name) __attribute__((nothrow))

// A scalar function with a body is written as a template without deduced parameters: its arguments convert as those of an
// ordinary function do, but clang reads the body from the precompiled header only when it is called. In SYCL mode every
// ordinary inline function in the precompiled header costs time in each compile.
#define __MSL_LAZY template <int = 0> __MSL_INLINE
