// Device checks of arguments.
#include "DeviceCheck.h"

#include "Aliasing.h"

#include <ATen/core/op_registration/adaption.h>

namespace openmps {

namespace {

// The checks of one call, argument by argument in the order of the generated wrappers: out
// arguments first.
class Checker {
 public:
  explicit Checker(const CheckedOp& op) : op_(op) {}

  void operator()(const at::Tensor& tensor, const c10::Argument& argument) {
    if (!tensor.defined()) {
      return;
    }
    if (op_.check == DeviceCheck::AllowCpuScalars) {
      TORCH_CHECK(
          isMps(tensor) || tensor.dim() == 0,
          "Expected all tensors to be on the same device, but found at least two devices, mps:0 "
          "and ",
          tensor.device(),
          "!");
    } else if (op_.check == DeviceCheck::Convolution) {
      checkParameter(tensor, argument.name());
    } else if (op_.check == DeviceCheck::Indices) {
      TORCH_CHECK(
          isMps(tensor) || argument.name() != "self",
          "indices should be either on cpu or on the same device as the indexed tensor (",
          tensor.device(),
          ")");
    } else if (op_.check == DeviceCheck::SameDevice) {
      c10::impl::check_and_update_common_device(
          common_device_, tensor, op_.wrapper, argument.name().c_str());
    }
  }

 private:
  void checkParameter(const at::Tensor& tensor, const std::string& name) {
    if (!input_.defined()) {
      input_ = tensor;
      return;
    }
    // The real backend's CPU kernel exists to say this.
    TORCH_CHECK(
        isMps(input_) || !isMps(tensor),
        "slow_conv2d_forward_mps: input(device='",
        input_.device(),
        "') and weight(device=",
        tensor.device(),
        "')  must be on the same device");
    TORCH_CHECK(
        isMps(tensor),
        "Input type (",
        input_.toString(),
        ") and ",
        name,
        " type (",
        tensor.toString(),
        ") should be the same");
  }

  const CheckedOp& op_;
  std::optional<c10::Device> common_device_;
  at::Tensor input_;
};

c10::Device deviceOf(const c10::IValue& source) {
  return source.isStorage() ? source.toStorage().device() : source.toTensor().device();
}

// set_(self, source, ...)
void checkStorage(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  const auto arguments = torch::jit::last(stack, schema.arguments().size());
  if (arguments.size() < 2) {
    return;
  }
  const auto device = deviceOf(arguments[0]);
  const auto source = deviceOf(arguments[1]);
  TORCH_CHECK(
      device == source,
      "Attempted to set the storage of a tensor on device \"",
      device,
      "\" to a storage on different device \"",
      source,
      "\".  This is no longer allowed; the devices must match.");
}

template <class CheckOne>
void outArgumentsFirst(const c10::FunctionSchema& schema, const CheckOne& check_one) {
  const auto& arguments = schema.arguments();
  for (const bool out : {true, false}) {
    for (size_t index = 0; index < arguments.size(); ++index) {
      if (arguments[index].is_out() == out) {
        check_one(index, arguments[index]);
      }
    }
  }
}

} // namespace

void checkDevices(
    const CheckedOp& op, const c10::OperatorHandle& handle, const torch::jit::Stack& stack) {
  const auto& schema = handle.schema();
  if (op.check == DeviceCheck::Storage) {
    checkStorage(schema, stack);
    return;
  }
  const size_t first = stack.size() - schema.arguments().size();
  bool all_mps = true;
  for (size_t index = first; index < stack.size() && all_mps; ++index) {
    const auto& value = stack[index];
    if (value.isTensor()) {
      all_mps = !value.toTensor().defined() || isMps(value.toTensor());
    } else if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorList()) {
        all_mps = all_mps && (!tensor.defined() || isMps(tensor));
      }
    }
  }
  if (C10_LIKELY(all_mps)) {
    return;
  }
  Checker checker(op);
  outArgumentsFirst(schema, [&](size_t index, const c10::Argument& argument) {
    const auto& value = stack[first + index];
    if (value.isTensor()) {
      checker(value.toTensor(), argument);
    } else if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorList()) {
        checker(tensor, argument);
      }
    }
  });
}

c10::OperatorHandle handleOf(const CheckedOp& op) {
  const std::string name(op.name);
  const auto dot = name.find('.');
  const auto overload = dot == std::string::npos ? std::string() : name.substr(dot + 1);
  return c10::Dispatcher::singleton().findSchemaOrThrow(
      ("aten::" + name.substr(0, dot)).c_str(), overload.c_str());
}

void checkDevices(const CheckedOp& op, std::initializer_list<std::vector<at::Tensor>> tensors) {
  const auto handle = handleOf(op);
  Checker checker(op);
  outArgumentsFirst(handle.schema(), [&](size_t index, const c10::Argument& argument) {
    for (const auto& tensor : tensors.begin()[index]) {
      checker(tensor, argument);
    }
  });
}

} // namespace openmps
