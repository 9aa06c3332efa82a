// torch.Generator(device="mps"): a handle on a generator of the runtime.
#pragma once

#include "autogen_openmps_abi.h"

#include <ATen/core/Generator.h>
#include <c10/core/GeneratorImpl.h>

#include <optional>

namespace openmps {

struct MPSGeneratorImpl final : public c10::GeneratorImpl {
  // Takes ownership of one reference on `handle`.
  explicit MPSGeneratorImpl(OpenmpsGenerator* handle);
  ~MPSGeneratorImpl() override;

  static c10::DeviceType device_type() {
    return c10::DeviceType::MPS;
  }

  void set_current_seed(uint64_t seed) override;
  void set_offset(uint64_t offset) override;
  uint64_t get_offset() const override;
  uint64_t current_seed() const override;
  uint64_t seed() override;
  void set_state(const c10::TensorImpl& new_state) override;
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override;

  const OpenmpsGenerator* handle() const {
    return handle_;
  }

 private:
  MPSGeneratorImpl* clone_impl() const override;

  OpenmpsGenerator* handle_;
};

const at::Generator& getDefaultMPSGenerator();
at::Generator createMPSGenerator();

// The handle behind an optional generator argument; the default generator when there is none.
// Raises PyTorch's text when the generator belongs to another device.
const OpenmpsGenerator* generatorHandle(const std::optional<at::Generator>& generator);

} // namespace openmps
