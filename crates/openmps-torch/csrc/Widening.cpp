// The second attempt of an op in a wide dtype. Costs nothing where the first one succeeds but the copy of the arguments.
#include "Widening.h"

#include <ATen/ops/copy_native.h>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace openmps {

namespace {

using torch::jit::Stack;

at::ScalarType wide(at::ScalarType dtype) {
  return dtype == at::kHalf || dtype == at::kBFloat16 ? at::kFloat : at::kLong;
}

// AT_DISPATCH's text: "cdist" not implemented for 'Half'
bool refusesNarrowDtype(std::string_view text) {
  for (const std::string_view name : {"'Half'", "'BFloat16'", "'UInt16'", "'UInt32'"}) {
    if (text.find(std::string("not implemented for ") + std::string(name)) != text.npos) {
      return true;
    }
  }
  return false;
}

// The arguments of one call in wide dtypes, and the way back.
class WideCall {
 public:
  explicit WideCall(const c10::FunctionSchema& schema) : schema_(schema) {}

  Stack widen(const Stack& arguments) {
    Stack converted;
    converted.reserve(arguments.size());
    for (size_t index = 0; index < arguments.size(); ++index) {
      const auto* alias = schema_.arguments()[index].alias_info();
      is_written_ = alias != nullptr && alias->isWrite();
      converted.push_back(widen(arguments[index]));
    }
    return converted;
  }

  // Rounds what the call wrote into the arguments that it was for.
  void writeBack() const {
    for (const auto& pair : pairs_) {
      if (pair.is_written) {
        at::Tensor narrow = pair.narrow;
        if (narrow.sizes() != pair.wide.sizes()) {
          narrow.resize_(pair.wide.sizes());
        }
        at::native::copy_(narrow, pair.wide, /*non_blocking=*/false);
      }
    }
  }

  void narrow(c10::IValue& result) const {
    if (result.isTensor()) {
      result = narrow(result.toTensor());
    } else if (result.isTensorList()) {
      std::vector<at::Tensor> tensors;
      for (const at::Tensor& tensor : result.toTensorVector()) {
        tensors.push_back(narrow(tensor));
      }
      result = c10::List<at::Tensor>(tensors);
    }
  }

 private:
  struct Pair {
    at::Tensor narrow;
    at::Tensor wide;
    bool is_written;
  };

  at::Tensor widen(const at::Tensor& tensor) {
    if (!tensor.defined() || !isNarrow(tensor.scalar_type())) {
      return tensor;
    }
    narrow_dtype_ = tensor.scalar_type();
    auto converted = tensor.to(wide(tensor.scalar_type()));
    pairs_.push_back({tensor, converted, is_written_});
    return converted;
  }

  c10::IValue widen(const c10::IValue& value) {
    if (value.isTensor()) {
      return widen(value.toTensor());
    }
    if (value.isTensorList()) {
      c10::List<at::Tensor> converted;
      for (const at::Tensor& tensor : value.toTensorVector()) {
        converted.push_back(widen(tensor));
      }
      return converted;
    }
    if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> converted;
      for (const std::optional<at::Tensor> tensor : value.toOptionalTensorList()) {
        converted.push_back(tensor ? std::optional(widen(*tensor)) : std::nullopt);
      }
      return converted;
    }
    return value;
  }

  at::Tensor narrow(const at::Tensor& result) const {
    for (const auto& pair : pairs_) {
      if (pair.wide.is_same(result)) {
        return pair.narrow;
      }
    }
    // An int64 result may be indices, so only floats are rounded.
    if (result.defined() && result.scalar_type() == at::kFloat && wide(narrow_dtype_) == at::kFloat) {
      return result.to(narrow_dtype_);
    }
    return result;
  }

  const c10::FunctionSchema& schema_;
  std::vector<Pair> pairs_;
  at::ScalarType narrow_dtype_ = at::kHalf;
  bool is_written_ = false;
};

} // namespace

void redispatchWidening(
    const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  const auto& schema = op.schema();
  const auto first = stack->end() - static_cast<std::ptrdiff_t>(schema.arguments().size());
  const Stack arguments(first, stack->end());
  const size_t below = stack->size() - arguments.size();
  try {
    op.redispatchBoxed(keys, stack);
    return;
  } catch (const c10::NotImplementedError& error) {
    if (!refusesNarrowDtype(error.what_without_backtrace())) {
      throw;
    }
    WideCall call(schema);
    Stack converted = call.widen(arguments);
    try {
      op.redispatchBoxed(keys, &converted);
    } catch (const c10::NotImplementedError&) {
      throw error;
    }
    call.writeBack();
    stack->resize(below);
    for (auto& result : converted) {
      call.narrow(result);
      stack->push_back(std::move(result));
    }
  }
}

} // namespace openmps
