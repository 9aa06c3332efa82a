// The device guard of device type MPS. torch.Stream and torch.Event on "mps" end here.
#include "MPSGuardImpl.h"

#include "Status.h"

#include <c10/core/Allocator.h>
#include <c10/core/ScalarType.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace openmps {

namespace {

// An event of the guard is a heap cell with the pool's id in it.
struct GuardEvent {
  uint32_t id;
};

const c10::Device kDevice(c10::kMPS, 0);

c10::Stream streamOf(uint32_t id) {
  return c10::Stream(c10::Stream::UNSAFE, kDevice, static_cast<c10::StreamId>(id));
}

uint32_t idOf(const c10::Stream& stream) {
  return static_cast<uint32_t>(stream.id());
}

class MPSGuardImpl final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override {
    return c10::kMPS;
  }
  c10::Device exchangeDevice(c10::Device) const override {
    return kDevice;
  }
  c10::Device getDevice() const override {
    return kDevice;
  }
  void setDevice(c10::Device device) const override {
    TORCH_CHECK(device.is_mps(), "Expected a MPS device, but got ", device);
  }
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::DeviceIndex deviceCount() const noexcept override {
    return 1;
  }
  c10::DeviceCapability getDeviceCapability(c10::Device) const override {
    c10::DeviceCapability capability;
    capability.capability_data.capability_bits = kSupportedTypeBits;
    return capability;
  }

  c10::Stream getStream(c10::Device) const override {
    return streamOf(openmps_stream_current());
  }
  c10::Stream getDefaultStream(c10::Device) const override {
    return streamOf(0);
  }
  c10::Stream getNewStream(c10::Device, int) const override {
    return streamOf(openmps_stream_from_pool());
  }
  c10::Stream getStreamFromGlobalPool(c10::Device, bool) const override {
    return streamOf(openmps_stream_from_pool());
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    const auto previous = streamOf(openmps_stream_current());
    check(openmps_stream_set_current(idOf(stream)));
    return previous;
  }
  bool queryStream(const c10::Stream& stream) const override {
    bool idle = false;
    check(openmps_stream_is_idle(idOf(stream), &idle));
    return idle;
  }
  void synchronizeStream(const c10::Stream& stream) const override {
    check(openmps_stream_synchronize(idOf(stream)));
  }
  void synchronizeDevice(c10::DeviceIndex) const override {
    check(openmps_synchronize_all());
  }
  void recordDataPtrOnStream(
      const c10::DataPtr& pointer, const c10::Stream& stream) const override {
    if (pointer.get() != nullptr) {
      check(openmps_record_stream(pointer.get(), idOf(stream)));
    }
  }

  void record(
      void** event,
      const c10::Stream& stream,
      c10::DeviceIndex device_index,
      c10::EventFlag flag) const override {
    TORCH_CHECK(
        device_index == -1 || device_index == stream.device_index(),
        "Event device index ",
        device_index,
        " does not match recording stream's device index ",
        stream.device_index(),
        ".");
    if (*event == nullptr) {
      uint32_t id = 0;
      check(openmps_event_acquire(flag == c10::EventFlag::BACKEND_DEFAULT, &id));
      *event = new GuardEvent{id};
    }
    check(openmps_event_record(eventId(*event), idOf(stream)));
  }
  void block(void* event, const c10::Stream& stream) const override {
    if (event != nullptr) {
      check(openmps_event_wait(eventId(event), idOf(stream)));
    }
  }
  bool queryEvent(void* event) const override {
    if (event == nullptr) {
      return true;
    }
    bool done = false;
    check(openmps_event_query(eventId(event), &done));
    return done;
  }
  void synchronizeEvent(void* event) const override {
    if (event != nullptr) {
      check(openmps_event_synchronize(eventId(event)));
    }
  }
  double elapsedTime(void* start, void* end, c10::DeviceIndex) const override {
    TORCH_CHECK(
        start != nullptr && end != nullptr,
        "Both events must be recorded before calculating elapsed time.");
    double elapsed_ms = 0;
    check(openmps_event_elapsed_ms(eventId(start), eventId(end), &elapsed_ms));
    return elapsed_ms;
  }
  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override {
    if (event != nullptr) {
      // A destructor cannot raise, and an id that the pool no longer knows needs no release.
      (void)openmps_event_release(eventId(event));
      delete static_cast<GuardEvent*>(event);
    }
  }

 private:
  static uint32_t eventId(const void* event) {
    return static_cast<const GuardEvent*>(event)->id;
  }

  static constexpr uint64_t kSupportedTypeBits = (1ULL << c10::kIndex_Byte) |
      (1ULL << c10::kIndex_Char) | (1ULL << c10::kIndex_Short) | (1ULL << c10::kIndex_Int) |
      (1ULL << c10::kIndex_Long) | (1ULL << c10::kIndex_Half) | (1ULL << c10::kIndex_Float) |
      (1ULL << c10::kIndex_ComplexHalf) | (1ULL << c10::kIndex_ComplexFloat) |
      (1ULL << c10::kIndex_Bool) | (1ULL << c10::kIndex_BFloat16) |
      (1ULL << c10::kIndex_Float8_e4m3fn) | (1ULL << c10::kIndex_UInt32) |
      (1ULL << c10::kIndex_UInt16) | (1ULL << c10::kIndex_UInt64);
};

} // namespace

void installGuard() {
  // The registry keeps a raw pointer for the life of the process.
  static const c10::impl::DeviceGuardImplRegistrar registrar(c10::kMPS, new MPSGuardImpl());
}

} // namespace openmps
