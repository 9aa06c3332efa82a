// The object behind at::detail::getMPSHooks(): what torch._C._mps_* and torch.accelerator ask.
#pragma once

#include <ATen/detail/MPSHooksInterface.h>

namespace openmps {

// No data members: activation may put this class's vtable into a live base object.
struct MPSHooks final : public at::MPSHooksInterface {
  void init() const override {}
  bool hasMPS() const override {
    return true;
  }
  bool isOnMacOSorNewer(unsigned major, unsigned minor) const override;
  const at::Generator& getDefaultGenerator(c10::DeviceIndex device_index) const override;
  at::Generator getNewGenerator(c10::DeviceIndex device_index) const override;
  c10::Device getDeviceFromPtr(void* data) const override;

  bool isBuilt() const override {
    return true;
  }
  bool isAvailable() const override {
    return true;
  }
  bool hasPrimaryContext(c10::DeviceIndex) const override {
    return true;
  }
  c10::DeviceIndex deviceCount() const override {
    return 1;
  }
  c10::DeviceIndex getCurrentDevice() const override {
    return 0;
  }
  void setCurrentDevice(c10::DeviceIndex) const override {}
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const override {
    return 0;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex) const override {
    return 0;
  }

  c10::Allocator* getMPSDeviceAllocator() const override;
  c10::Allocator* getPinnedMemoryAllocator() const override;
  bool isPinnedPtr(const void* data) const override;
  void emptyCache() const override;
  size_t getCurrentAllocatedMemory() const override;
  size_t getDriverAllocatedMemory() const override;
  size_t getRecommendedMaxMemory() const override;
  size_t getMaxBufferLength() const override;
  void setMemoryFraction(double ratio) const override;

  void deviceSynchronize() const override;
  void commitStream() const override;
  // Metal objects for C++ extensions; there are none on this platform.
  void* getCommandBuffer() const override {
    return nullptr;
  }
  void* getDispatchQueue() const override {
    return nullptr;
  }

  void profilerStartTrace(const std::string& mode, bool waitUntilCompleted) const override;
  void profilerStopTrace() const override;

  uint32_t acquireEvent(bool enable_timing) const override;
  void releaseEvent(uint32_t event_id) const override;
  void recordEvent(uint32_t event_id) const override;
  void waitForEvent(uint32_t event_id) const override;
  void synchronizeEvent(uint32_t event_id) const override;
  bool queryEvent(uint32_t event_id) const override;
  double elapsedTimeOfEvents(uint32_t start_event_id, uint32_t end_event_id) const override;
};
static_assert(sizeof(MPSHooks) == sizeof(at::MPSHooksInterface));

// Makes getMPSHooks() answer as MPSHooks, also when its base object exists already.
void installHooks();

} // namespace openmps
