// torch.Generator(device="mps"). All state, locking included, is the runtime's; this class only
// converts it to and from tensors.
#include "MPSGeneratorImpl.h"

#include "Status.h"

#include <ATen/Utils.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <cstring>

namespace openmps {

MPSGeneratorImpl::MPSGeneratorImpl(OpenmpsGenerator* handle)
    : GeneratorImpl(
          c10::Device(c10::kMPS, 0), c10::DispatchKeySet(c10::DispatchKey::MPS)),
      handle_(handle) {}

MPSGeneratorImpl::~MPSGeneratorImpl() {
  openmps_generator_free(handle_);
}

void MPSGeneratorImpl::set_current_seed(uint64_t seed) {
  check(openmps_generator_manual_seed(handle_, seed));
}

void MPSGeneratorImpl::set_offset(uint64_t offset) {
  check(openmps_generator_set_offset(handle_, offset));
}

uint64_t MPSGeneratorImpl::get_offset() const {
  uint64_t offset = 0;
  check(openmps_generator_offset(handle_, &offset));
  return offset;
}

uint64_t MPSGeneratorImpl::current_seed() const {
  uint64_t seed = 0;
  check(openmps_generator_initial_seed(handle_, &seed));
  return seed;
}

uint64_t MPSGeneratorImpl::seed() {
  uint64_t seed = 0;
  check(openmps_generator_seed(handle_, &seed));
  return seed;
}

void MPSGeneratorImpl::set_state(const c10::TensorImpl& new_state) {
  // Raises "RNG state must be a torch.ByteTensor" and "RNG state must be contiguous".
  at::detail::check_rng_state(new_state);
  TORCH_CHECK(
      new_state.numel() == OPENMPS_GENERATOR_STATE_BYTES, "RNG state is wrong size");
  OpenmpsGeneratorState state{};
  std::memcpy(state.bytes, new_state.data(), sizeof(state.bytes));
  check(openmps_generator_set_state(handle_, &state));
}

c10::intrusive_ptr<c10::TensorImpl> MPSGeneratorImpl::get_state() const {
  OpenmpsGeneratorState state{};
  check(openmps_generator_state(handle_, &state));
  at::Tensor bytes = at::empty(
      {OPENMPS_GENERATOR_STATE_BYTES}, at::TensorOptions().device(at::kCPU).dtype(at::kByte));
  std::memcpy(bytes.mutable_data_ptr<uint8_t>(), state.bytes, sizeof(state.bytes));
  return bytes.getIntrusivePtr();
}

MPSGeneratorImpl* MPSGeneratorImpl::clone_impl() const {
  return new MPSGeneratorImpl(openmps_generator_clone(handle_));
}

const at::Generator& getDefaultMPSGenerator() {
  // Leaked on purpose: Python keeps a reference until after static destructors ran.
  static const auto& generator =
      *new at::Generator(at::make_generator<MPSGeneratorImpl>(openmps_generator_default()));
  return generator;
}

at::Generator createMPSGenerator() {
  return at::make_generator<MPSGeneratorImpl>(openmps_generator_new());
}

const OpenmpsGenerator* generatorHandle(const std::optional<at::Generator>& generator) {
  return at::get_generator_or_default<MPSGeneratorImpl>(generator, getDefaultMPSGenerator())
      ->handle();
}

} // namespace openmps
