// Allocators over the runtime's arena: device memory, pinned host memory, and the CPU allocator
// that serves kernels redispatched for MPS.
#pragma once

#include "ThreadState.h"
#include "autogen_openmps_abi.h"

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Storage.h>
#include <c10/macros/Macros.h>

#include <atomic>

namespace openmps {

c10::DeviceAllocator* getMPSAllocator();
c10::Allocator* getPinnedAllocator();
c10::Allocator* getHostAllocator();

// Registers the device allocator and wraps the CPU allocator of the process.
void installAllocators();

// The deleter of every DataPtr whose memory is a block of the arena.
void deleteBlock(void* address);

// Where blocks' words are; null until the first block was asked for.
extern std::atomic<const OpenmpsBlockSlots*> blockSlots;

// The same, asked for anew; null before the first allocation.
const OpenmpsBlockSlots* findBlockSlots();

// The word of the live block that starts at `address`: the CPU twin of its storage, or `OPENMPS_BLOCK_SLOT_EMPTY`. Null if
// no block starts there.
inline uint64_t* blockSlot(const void* address) {
  const auto* slots = blockSlots.load(std::memory_order_acquire);
  if (C10_UNLIKELY(slots == nullptr) && (slots = findBlockSlots()) == nullptr) {
    return nullptr;
  }
  const uint64_t offset = reinterpret_cast<uint64_t>(address) - slots->base;
  const uint64_t unit = offset / OPENMPS_BLOCK_SLOT_UNIT_BYTES;
  if (C10_UNLIKELY(unit >= slots->count || offset % OPENMPS_BLOCK_SLOT_UNIT_BYTES != 0)) {
    return nullptr;
  }
  uint64_t* slot = slots->words + unit;
  return C10_LIKELY(std::atomic_ref(*slot).load(std::memory_order_acquire) != 0) ? slot : nullptr;
}

// While one is alive, CPU allocations of this thread come from the arena, so that results of a
// redispatched CPU kernel become MPS tensors without a copy.
class ArenaAllocationScope {
 public:
  explicit ArenaAllocationScope(ThreadState& thread = threadState) : thread_(thread) {
    ++thread_.arena_depth;
  }
  ~ArenaAllocationScope() {
    --thread_.arena_depth;
  }
  ArenaAllocationScope(const ArenaAllocationScope&) = delete;
  ArenaAllocationScope& operator=(const ArenaAllocationScope&) = delete;
  static bool active() {
    return threadState.arena_depth != 0;
  }

 private:
  ThreadState& thread_;
};

} // namespace openmps
