// What the plug-in keeps for each thread, in one place: finding thread-local memory of a loaded library is a call, so hot paths
// look once and hand it on.
#pragma once

#include <array>
#include <cstddef>

namespace c10 {
struct TensorImpl;
}

namespace openmps {

class AliasImpl;

struct ThreadState {
  // Scopes inside of which CPU allocations come from the arena (MPSAllocator.h).
  int arena_depth = 0;
  // TensorImpls of aliases that no call uses (Aliasing.cpp); owned. None are kept before the first, whose keeper clears them
  // when the thread ends, nor after that.
  bool keeps_impls = false;
  size_t impl_count = 0;
  std::array<AliasImpl*, 8> impls{};
  // The float tensor without dimensions that a number becomes (Aliasing.cpp); owned, null before the first and when the thread
  // ends.
  c10::TensorImpl* number = nullptr;
};

// Plain data without constructor and destructor: no access checks whether it exists.
extern constinit thread_local ThreadState threadState;

} // namespace openmps
