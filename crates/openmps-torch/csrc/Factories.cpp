// empty.memory_format and empty_strided: where every MPS tensor begins.
#include "MPSAllocator.h"
#include "Registration.h"

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/fill.h>

#include <limits>

namespace openmps {

namespace {

// The largest rank that Metal's graph layer takes.
constexpr size_t kMaxRank = 16;

void checkDtype(at::ScalarType dtype) {
  TORCH_CHECK_TYPE(
      dtype != at::kDouble,
      "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. "
      "Please use float32 instead.");
}

void checkLayout(std::optional<at::Layout> layout) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      c10::layout_or_default(layout) == at::Layout::Strided,
      "only strided tensors are supported on MPS");
}

// torch.use_deterministic_algorithms with torch.utils.deterministic.fill_uninitialized_memory.
at::Tensor filledWhenDeterministic(at::Tensor&& tensor) {
  if (C10_UNLIKELY(
          at::globalContext().deterministicAlgorithms() &&
          at::globalContext().deterministicFillUninitializedMemory())) {
    at::native::fill_empty_deterministic_(tensor);
  }
  return std::move(tensor);
}

at::Tensor emptyMemoryFormat(
    at::IntArrayRef size,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> layout,
    std::optional<at::Device> /*device: there is one*/,
    std::optional<bool> /*pin_memory: generic layers reject it*/,
    std::optional<at::MemoryFormat> memory_format) {
  checkLayout(layout);
  TORCH_CHECK(
      size.size() <= kMaxRank,
      "MPS supports tensors with dimensions <= 16, but got ",
      size.size(),
      ".");
  at::native::check_size_nonnegative(size);
  const auto scalar_type = c10::dtype_or_default(dtype);
  checkDtype(scalar_type);
  return filledWhenDeterministic(at::detail::empty_generic(
      size,
      getMPSAllocator(),
      c10::DispatchKeySet(c10::DispatchKey::MPS),
      scalar_type,
      memory_format));
}

at::Tensor emptyStrided(
    at::IntArrayRef size,
    at::IntArrayRef stride,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> layout,
    std::optional<at::Device> /*device: there is one*/,
    std::optional<bool> /*pin_memory: generic layers reject it*/) {
  checkLayout(layout);
  const auto scalar_type = c10::dtype_or_default(dtype);
  checkDtype(scalar_type);
  return filledWhenDeterministic(at::detail::empty_strided_generic(
      size,
      stride,
      getMPSAllocator(),
      c10::DispatchKeySet(c10::DispatchKey::MPS),
      scalar_type));
}

} // namespace

void registerFactories(torch::Library& library) {
  library.impl("empty.memory_format", TORCH_FN(emptyMemoryFormat));
  library.impl("empty_strided", TORCH_FN(emptyStrided));
}

} // namespace openmps
