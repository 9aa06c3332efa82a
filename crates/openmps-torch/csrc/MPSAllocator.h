// Allocators over the runtime's arena: device memory, pinned host memory, and the CPU allocator
// that serves kernels redispatched for MPS.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Storage.h>

namespace openmps {

c10::DeviceAllocator* getMPSAllocator();
c10::Allocator* getPinnedAllocator();
c10::Allocator* getHostAllocator();

// Registers the device allocator and wraps the CPU allocator of the process.
void installAllocators();

// The deleter of every DataPtr whose memory is a block of the arena.
void deleteBlock(void* address);

// While one is alive, CPU allocations of this thread come from the arena, so that results of a
// redispatched CPU kernel become MPS tensors without a copy.
class ArenaAllocationScope {
 public:
  ArenaAllocationScope() {
    ++depth_;
  }
  ~ArenaAllocationScope() {
    --depth_;
  }
  ArenaAllocationScope(const ArenaAllocationScope&) = delete;
  ArenaAllocationScope& operator=(const ArenaAllocationScope&) = delete;
  static bool active() {
    return depth_ != 0;
  }

 private:
  static thread_local int depth_;
};

} // namespace openmps
