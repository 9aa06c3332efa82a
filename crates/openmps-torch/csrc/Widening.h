// CPU kernels that exist for wide dtypes only, for tensors of narrow ones.
//
// The real backend computes Bessel functions of halves or makes an arange of uint32 where ATen's CPU has no kernel. There the
// op runs in float32 or int64 on converted arguments, and what it wrote and returned is rounded once.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace openmps {

// Whether the CPU lacks some kernels for this dtype that the real backend has.
inline bool isNarrow(at::ScalarType dtype) {
  return dtype == at::kHalf || dtype == at::kBFloat16 || dtype == at::kUInt16 ||
      dtype == at::kUInt32;
}

// Whether Metal has no such type, although PyTorch has: tensors of it may be made and moved, and no kernel takes them.
inline bool isUnknownToMetal(at::ScalarType dtype) {
  switch (dtype) {
    case at::ScalarType::Double:
    case at::ScalarType::ComplexDouble:
    case at::ScalarType::Float8_e5m2:
    case at::ScalarType::Float8_e5m2fnuz:
    case at::ScalarType::Float8_e4m3fnuz:
    case at::ScalarType::Float8_e8m0fnu:
      return true;
    default:
      return false;
  }
}

// Dispatcher::redispatchBoxed for arguments some of which are narrow: if the kernel refuses the dtype, once more in a wide one.
// What is raised is always about the narrow dtype.
void redispatchWidening(
    const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

} // namespace openmps
