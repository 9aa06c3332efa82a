// Dtypes and arguments that the real backend's kernels refuse although a CPU kernel computes them, and the ops that
// torch.use_deterministic_algorithms(True) refuses. The tables are generated from refusals.py.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace openmps {

enum class RefusalError : uint8_t {
  RuntimeError,
  NotImplementedError,
  TypeError,
  // Only in deterministic mode: the text is the name that PyTorch's alert begins with.
  Alert,
};

// Arguments in the order of the schema. Unboxed kernels leave out what is neither tensor, bool, integer, number, string nor list
// of integers.
using RefusalArguments = c10::ArrayRef<c10::IValue>;

struct Refusal {
  // Index of the tensor whose dtype decides.
  uint8_t argument;
  RefusalError error;
  // One bit a c10::ScalarType.
  uint64_t dtypes;
  // A further condition, or null.
  bool (*applies)(RefusalArguments);
  const char* text;
};

// The rows of one op.
struct Refusals {
  const Refusal* rows;
  size_t count;
};

// Raises if a row forbids the call of `op` (of aten, with overload).
void checkRefusals(const char* op, const Refusals& refusals, RefusalArguments arguments);

// Whether a row may forbid a call with these tensors (null for other arguments), conditions aside.
bool mayRefuse(const Refusals& refusals, c10::ArrayRef<const at::Tensor*> tensors);

template <class T>
const at::Tensor* refusalTensor(const T& value) {
  if constexpr (std::is_same_v<T, at::Tensor>) {
    return &value;
  } else {
    return nullptr;
  }
}

// An argument of an unboxed kernel as far as conditions look at arguments.
template <class T>
c10::IValue refusalArgument(const T& value) {
  if constexpr (
      std::is_same_v<T, at::Tensor> || std::is_same_v<T, bool> || std::is_same_v<T, int64_t> ||
      std::is_same_v<T, at::Scalar>) {
    return value;
  } else if constexpr (std::is_same_v<T, at::IntArrayRef>) {
    return c10::IValue(value);
  } else if constexpr (std::is_same_v<T, std::string_view>) {
    return c10::IValue(std::string(value));
  } else {
    return {};
  }
}

// Conditions, each about the ops that refusals.py names it for.
bool isTransposedInThreeDimensions(RefusalArguments arguments);
bool poolsInOppositeDirections(RefusalArguments arguments);
bool growsUnevenly(RefusalArguments arguments);
bool shrinksUnevenly(RefusalArguments arguments);
bool isWithoutPivot(RefusalArguments arguments);
bool isMean(RefusalArguments arguments);
bool isMeanOrProduct(RefusalArguments arguments);
bool isSumOrMeanOrProduct(RefusalArguments arguments);
bool accumulates(RefusalArguments arguments);
bool isDenseBag(RefusalArguments arguments);
bool hasMoreThanFourDimensions(RefusalArguments arguments);
bool isBicubic(RefusalArguments arguments);
bool hasComplexFactor(RefusalArguments arguments);

} // namespace openmps
