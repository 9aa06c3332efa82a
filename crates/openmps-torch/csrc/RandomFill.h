// The step that all random ops share: memory of a tensor as the runtime's Elements.
#pragma once

#include "MPSStream.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>

namespace openmps {

// The elements of a contiguous tensor on device mps. The dispatcher comes here for a tensor of the
// CPU too when the generator is one of device mps.
inline OpenmpsElements elementsOf(const at::Tensor& tensor) {
  TORCH_CHECK(tensor.device().is_mps(), "Passed CPU tensor to MPS op");
  return {
      reinterpret_cast<uint64_t>(tensor.const_data_ptr()),
      static_cast<uint64_t>(tensor.numel()),
      static_cast<uint32_t>(tensor.scalar_type()),
      0};
}

// Calls `fill` with the elements of `self`, in logical row-major order: a contiguous temporary takes
// the place of a tensor with other strides.
template <class Fill>
void fillContiguous(const at::Tensor& self, const Fill& fill) {
  drainCurrentStream();
  if (self.is_contiguous() && !self.is_neg()) {
    const auto elements = elementsOf(self);
    fill(&elements);
    return;
  }
  const auto values = at::empty_like(self, at::MemoryFormat::Contiguous);
  const auto elements = elementsOf(values);
  fill(&elements);
  self.copy_(values);
}

} // namespace openmps
