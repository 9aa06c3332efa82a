// Allocators over the runtime's arena.
//
// Every DataPtr is "simple" (context == data): oneDNN goes through Allocator::raw_allocate and
// raw_deallocate, which keep only the data pointer. The deleter therefore accepts memory of the
// arena and of the process's original CPU allocator.
#include "MPSAllocator.h"

#include "Status.h"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

namespace openmps {

constinit thread_local ThreadState threadState;
std::atomic<const OpenmpsBlockSlots*> blockSlots = nullptr;

const OpenmpsBlockSlots* findBlockSlots() {
  const auto* slots = openmps_block_slots();
  blockSlots.store(slots, std::memory_order_release);
  return slots;
}

namespace {

const c10::Device kDevice(c10::kMPS, 0);
const c10::Device kHost(c10::kCPU);
c10::Allocator* originalHostAllocator = nullptr;

void* allocateBlock(size_t size, uint32_t usage) {
  void* address = nullptr;
  if (size != 0) {
    check(openmps_allocate(size, usage, &address));
  }
  return address;
}

class MPSAllocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    void* address = allocateBlock(size, OPENMPS_USAGE_DEVICE);
    return {address, address, &deleteBlock, kDevice};
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return &deleteBlock;
  }
  void copy_data(void* dest, const void* src, size_t count) const override {
    default_copy_data(dest, src, count);
  }
  bool initialized() override {
    return openmps_allocator_is_initialized();
  }
  void emptyCache(c10::MempoolId_t) override {
    check(openmps_empty_cache());
  }
  void recordStream(const c10::DataPtr& pointer, c10::Stream stream) override {
    if (pointer.get() != nullptr) {
      check(openmps_record_stream(pointer.get(), static_cast<uint32_t>(stream.id())));
    }
  }
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
    OpenmpsMemoryStats stats{};
    check(openmps_memory_stats(&stats));
    c10::CachingDeviceAllocator::DeviceStats result;
    constexpr auto aggregate = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    result.allocated_bytes[aggregate] = toStat(stats.allocated);
    result.reserved_bytes[aggregate] = toStat(stats.reserved);
    result.active_bytes[aggregate] = toStat(stats.allocated);
    return result;
  }
  void resetAccumulatedStats(c10::DeviceIndex) override {
    check(openmps_reset_accumulated_stats());
  }
  void resetPeakStats(c10::DeviceIndex) override {
    check(openmps_reset_peak_stats());
  }
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex) override {
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
    check(openmps_memory_info(&free_bytes, &total_bytes));
    return {free_bytes, total_bytes};
  }

 private:
  static c10::CachingAllocator::Stat toStat(const OpenmpsMemoryStat& stat) {
    return {stat.current, stat.peak, stat.allocated, stat.freed};
  }
};

class PinnedAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    void* address = allocateBlock(size, OPENMPS_USAGE_PINNED);
    return {address, address, &deleteBlock, kHost};
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return &deleteBlock;
  }
  void copy_data(void* dest, const void* src, size_t count) const override {
    default_copy_data(dest, src, count);
  }
};

// The process's CPU allocator outside of an ArenaAllocationScope, the arena inside.
class HostAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    if (C10_LIKELY(!ArenaAllocationScope::active())) {
      return originalHostAllocator->allocate(size);
    }
    void* address = allocateBlock(size, OPENMPS_USAGE_DEVICE);
    return {address, address, &deleteBlock, kHost};
  }
  bool is_simple_data_ptr(const c10::DataPtr& pointer) const override {
    return pointer.get() == pointer.get_context();
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return &deleteBlock;
  }
  void copy_data(void* dest, const void* src, size_t count) const override {
    default_copy_data(dest, src, count);
  }
};

MPSAllocator mpsAllocator;
PinnedAllocator pinnedAllocator;
HostAllocator hostAllocator;

// Frees a block, unless a CPU alias of it is still referenced: then the alias inherits it.
C10_NOINLINE void releaseTwin(void* address, std::atomic_ref<uint64_t> slot) {
  auto* kept = reinterpret_cast<c10::StorageImpl*>(slot.exchange(OPENMPS_BLOCK_SLOT_EMPTY, std::memory_order_acq_rel));
  c10::raw::intrusive_ptr::decref(kept); // The spare reference.
  auto twin = c10::intrusive_ptr<c10::StorageImpl>::reclaim(kept);
  if (twin.use_count() > 1) {
    twin->set_data_ptr_noswap({address, address, &deleteBlock, kHost});
  } else {
    twin.reset();
    openmps_free(address);
  }
}

} // namespace

void deleteBlock(void* address) {
  if (address == nullptr) {
    return;
  }
  if (uint64_t* slot = blockSlot(address); C10_LIKELY(slot != nullptr)) {
    const std::atomic_ref word(*slot);
    if (word.load(std::memory_order_acquire) != OPENMPS_BLOCK_SLOT_EMPTY) {
      releaseTwin(address, word);
    } else {
      openmps_free(address);
    }
  } else {
    // raw_deallocate of memory that the original allocator made.
    originalHostAllocator->raw_deleter()(address);
  }
}

c10::DeviceAllocator* getMPSAllocator() {
  return &mpsAllocator;
}

c10::Allocator* getPinnedAllocator() {
  return &pinnedAllocator;
}

c10::Allocator* getHostAllocator() {
  return &hostAllocator;
}

void installAllocators() {
  originalHostAllocator = c10::GetCPUAllocator();
  c10::SetAllocator(c10::kMPS, &mpsAllocator, 0);
  // Torch registers its own allocators with priority 0.
  c10::SetCPUAllocator(&hostAllocator, 1);
}

} // namespace openmps
