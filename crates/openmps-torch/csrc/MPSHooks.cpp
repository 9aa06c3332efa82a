// Forwards each MPS hook to the runtime.
#include "MPSHooks.h"

#include "MPSAllocator.h"
#include "MPSGeneratorImpl.h"
#include "Status.h"

#include <ATen/core/Generator.h>

#include <cstring>
#include <memory>

namespace openmps {

namespace {
// Events of torch.mps.Event belong to the default stream.
constexpr uint32_t kDefaultStream = 0;
} // namespace

bool MPSHooks::isOnMacOSorNewer(unsigned major, unsigned minor) const {
  bool is_at_least = false;
  check(openmps_device_is_os_at_least(major, minor, &is_at_least));
  return is_at_least;
}

const at::Generator& MPSHooks::getDefaultGenerator(c10::DeviceIndex) const {
  return getDefaultMPSGenerator();
}

at::Generator MPSHooks::getNewGenerator(c10::DeviceIndex) const {
  return createMPSGenerator();
}

c10::Device MPSHooks::getDeviceFromPtr(void*) const {
  return c10::Device(c10::kMPS, 0);
}

c10::Allocator* MPSHooks::getMPSDeviceAllocator() const {
  return getMPSAllocator();
}

c10::Allocator* MPSHooks::getPinnedMemoryAllocator() const {
  return getPinnedAllocator();
}

bool MPSHooks::isPinnedPtr(const void* data) const {
  return openmps_is_pinned(data);
}

void MPSHooks::emptyCache() const {
  check(openmps_empty_cache());
}

size_t MPSHooks::getCurrentAllocatedMemory() const {
  uint64_t bytes = 0;
  check(openmps_current_allocated_bytes(&bytes));
  return bytes;
}

size_t MPSHooks::getDriverAllocatedMemory() const {
  uint64_t bytes = 0;
  check(openmps_driver_allocated_bytes(&bytes));
  return bytes;
}

size_t MPSHooks::getRecommendedMaxMemory() const {
  return openmps_device_recommended_max_working_set_bytes();
}

size_t MPSHooks::getMaxBufferLength() const {
  return openmps_device_max_buffer_length_bytes();
}

void MPSHooks::setMemoryFraction(double ratio) const {
  check(openmps_set_high_watermark_ratio(ratio));
}

void MPSHooks::deviceSynchronize() const {
  check(openmps_synchronize_all());
}

void MPSHooks::commitStream() const {
  check(openmps_stream_commit(kDefaultStream));
}

void MPSHooks::profilerStartTrace(const std::string& mode, bool waitUntilCompleted) const {
  check(openmps_profile_start(mode.c_str(), waitUntilCompleted));
}

void MPSHooks::profilerStopTrace() const {
  check(openmps_profile_stop());
}

uint32_t MPSHooks::acquireEvent(bool enable_timing) const {
  uint32_t event = 0;
  check(openmps_event_acquire(enable_timing, &event));
  return event;
}

void MPSHooks::releaseEvent(uint32_t event_id) const {
  check(openmps_event_release(event_id));
}

void MPSHooks::recordEvent(uint32_t event_id) const {
  check(openmps_event_record(event_id, kDefaultStream));
}

void MPSHooks::waitForEvent(uint32_t event_id) const {
  check(openmps_event_wait(event_id, kDefaultStream));
}

void MPSHooks::synchronizeEvent(uint32_t event_id) const {
  check(openmps_event_synchronize(event_id));
}

bool MPSHooks::queryEvent(uint32_t event_id) const {
  bool done = false;
  check(openmps_event_query(event_id, &done));
  return done;
}

double MPSHooks::elapsedTimeOfEvents(uint32_t start_event_id, uint32_t end_event_id) const {
  double elapsed_ms = 0;
  check(openmps_event_elapsed_ms(start_event_id, end_event_id, &elapsed_ms));
  return elapsed_ms;
}

void installHooks() {
  at::MPSHooksRegistry()->Register(
      "MPSHooks", []() -> std::unique_ptr<at::MPSHooksInterface> {
        return std::make_unique<MPSHooks>();
      });
  const auto& live = at::detail::getMPSHooks();
  if (!live.isBuilt()) {
    // Somebody asked before activation and froze the base object: lend it our vtable.
    static const MPSHooks donor;
    std::memcpy(
        const_cast<void*>(static_cast<const void*>(&live)),
        static_cast<const void*>(&donor),
        sizeof(void*));
  }
  TORCH_CHECK(at::detail::getMPSHooks().isBuilt(), "the MPS hooks could not be installed");
}

} // namespace openmps
