// What happens only while something is profiled.
#include "Profile.h"

#include "Status.h"

#include <ATen/core/function_schema.h>

namespace openmps {

const uint32_t* const profileFlagsPlace = openmps_profile_flags();

uint32_t ProfileName::number() {
  uint32_t number = number_.load(std::memory_order_relaxed);
  if (number == 0) {
    check(openmps_profile_operator(text_, &number));
    number_.store(number, std::memory_order_relaxed);
  }
  return number;
}

namespace {

// The block's number, and how many commands hold it.
uint64_t bufferWord(const void* address) {
  OpenmpsBlockInfo info{};
  bool found = false;
  check(openmps_block_info(address, &info, &found));
  return found ? info.id | static_cast<uint64_t>(info.retain_count) << OPENMPS_PROFILE_RETAIN_SHIFT : 0;
}

} // namespace

void ProfiledTensors::add(const at::Tensor& tensor) {
  const size_t rank = tensor.defined() ? static_cast<size_t>(tensor.dim()) : 0;
  // One word is kept for the count of what is left out.
  if (rank > 255 || count_ + 2 + rank >= kCapacity) {
    ++left_out_;
    return;
  }
  if (!tensor.defined()) {
    words_[count_++] = OPENMPS_PROFILE_UNDEFINED;
    return;
  }
  uint64_t header = static_cast<uint64_t>(tensor.scalar_type()) | rank << OPENMPS_PROFILE_RANK_SHIFT;
  const bool with_buffer = tensor.is_mps() && tensor.has_storage() &&
      (profileFlags() & OPENMPS_PROFILE_FLAG_BUFFER_IDS) != 0;
  header |= tensor.is_mps() ? OPENMPS_PROFILE_MPS : 0;
  header |= with_buffer ? OPENMPS_PROFILE_BUFFER : 0;
  words_[count_++] = header;
  if (with_buffer) {
    words_[count_++] = bufferWord(tensor.storage().data());
  }
  for (const int64_t size : tensor.sizes()) {
    words_[count_++] = static_cast<uint64_t>(size);
  }
}

void ProfiledTensors::add(const c10::IValue& value) {
  if (value.isTensor()) {
    add(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorList()) {
      add(tensor);
    }
  } else if (value.isOptionalTensorList()) {
    for (const std::optional<at::Tensor> tensor : value.toOptionalTensorList()) {
      add(tensor);
    }
  }
}

uint64_t ProfiledTensors::finish() {
  if (left_out_ != 0) {
    words_[count_++] = OPENMPS_PROFILE_MORE | left_out_ << 32;
  }
  return count_;
}

void ProfiledOperation::begin(uint32_t kind, uint32_t name) {
  operation_.kind = kind;
  operation_.name = name;
  if (kind != OPENMPS_PROFILE_COPY) {
    operation_.copy_bytes = 0;
    operation_.copy_is_blocking = 0;
    operation_.copy_is_blit = 0;
  }
  operation_.words = tensors_.words();
  operation_.word_count = tensors_.finish();
  check(openmps_profile_begin(&operation_, &state_));
  running_ = true;
}

void ProfiledOperation::end() {
  // A destructor has no way to tell about an error, and there is none in ending what has begun.
  openmps_profile_end(&operation_, &state_);
}

void ProfiledOperation::beginOperator(
    ProfileName& name, const torch::jit::Stack& stack, size_t argument_count) {
  for (const auto& value : torch::jit::last(stack, argument_count)) {
    tensors_.add(value);
  }
  begin(OPENMPS_PROFILE_GRAPH, name.number());
}

void ProfiledOperation::beginFallback(
    const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  // PyTorch counts as many values again as there will be results, although these are arguments still.
  for (const size_t count : {schema.arguments().size(), schema.returns().size()}) {
    for (const auto& value : torch::jit::last(stack, std::min(count, stack.size()))) {
      if (value.isTensor()) {
        tensors_.add(value.toTensor());
      }
    }
  }
  begin(OPENMPS_PROFILE_FALLBACK, ProfileName(schema.name().c_str()).number());
}

void ProfiledOperation::beginCopy(
    const at::Tensor& dst, const at::Tensor& src, bool is_blocking) {
  static ProfileName name("copy_");
  tensors_.add(src);
  tensors_.add(dst);
  operation_.copy_bytes = static_cast<uint64_t>(src.numel()) * dst.element_size();
  operation_.copy_is_blocking = is_blocking;
  // Between MPS tensors a Mac runs a kernel.
  operation_.copy_is_blit = !(dst.is_mps() && src.is_mps());
  begin(OPENMPS_PROFILE_COPY, name.number());
}

} // namespace openmps
