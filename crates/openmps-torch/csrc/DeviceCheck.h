// Device checks of arguments, with the texts of PyTorch's generated wrappers and TensorIterator.
//
// Without them `mps + cpu` would silently compute, since both live in host memory.
#pragma once

#include "Refusals.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <initializer_list>
#include <string_view>
#include <vector>

namespace openmps {

enum class DeviceCheck : uint8_t {
  // The op accepts tensors of several devices, or checks by itself.
  None,
  // All tensors on one device; the message names argument and wrapper.
  SameDevice,
  // TensorIterator's rule: CPU tensors are fine when they have no dimensions.
  AllowCpuScalars,
  // The indexed tensor (first) is on the device; indices may be on the CPU too.
  Indices,
  // A tensor (first) gets storage of its own device.
  Storage,
  // The texts of convolutions, which compare input (first), weight and bias.
  Convolution,
};

// What a kernel has to know of its op: the name with overload, the name that PyTorch's code
// generator would have given the wrapper, which error texts quote, and what the real kernel refuses.
struct CheckedOp {
  const char* name;
  DeviceCheck check;
  const char* wrapper;
  Refusals refusals;
};

// The dispatcher's entry of the op, of namespace `aten`.
c10::OperatorHandle handleOf(const CheckedOp& op);

// Ops of the real backend that read a result back to know its size, and so wait and raise deferred errors.
constexpr bool isSynchronizing(std::string_view op) {
  for (const std::string_view name :
       {"nonzero", "nonzero.out", "masked_select", "masked_select.out", "_unique2", "unique_consecutive",
        "unique_dim", "bincount", "repeat_interleave.Tensor"}) {
    if (op == name) {
      return true;
    }
  }
  return false;
}

// Checks the arguments of a boxed call, the last ones on the stack.
void checkDevices(
    const CheckedOp& op, const c10::OperatorHandle& handle, const torch::jit::Stack& stack);

// The slow path of an unboxed kernel that met a tensor of another device. `tensors` holds one entry
// per argument of the op's schema: the tensors in it.
void checkDevices(const CheckedOp& op, std::initializer_list<std::vector<at::Tensor>> tensors);

} // namespace openmps
