// Descriptions of operators for those who listen.
#include "ObservedOp.h"

#include <c10/util/StringUtil.h>

namespace openmps {

namespace {

// One line: `MPS:Float[2, 3]`.
std::string describe(const at::Tensor& tensor) {
  if (!tensor.defined()) {
    return "undefined\n";
  }
  if (tensor.layout() != at::kStrided) {
    return c10::str(tensor.layout(), ":", tensor.scalar_type(), tensor.sizes(), "\n");
  }
  return c10::str(
      c10::DeviceTypeName(tensor.device().type()), ":", tensor.scalar_type(), tensor.sizes(), "\n");
}

} // namespace

void ObservedOp::begin(const std::string& name, const std::vector<at::Tensor>& tensors) {
  for (const auto& tensor : tensors) {
    tensors_ += describe(tensor);
  }
  name_ = c10::str("aten::", name);
  started_ns_ = openmps_observe_now();
}

void ObservedOp::end() noexcept {
  // Who listens reports its own trouble; the operator has run.
  (void)openmps_observe_host_op(name_.c_str(), tensors_.c_str(), started_ns_);
}

} // namespace openmps
