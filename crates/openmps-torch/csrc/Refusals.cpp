// Looks at the arguments of a call before the CPU kernel does, with the real backend's eyes.
#include "Refusals.h"

#include "Fallback.h"

#include <ATen/Context.h>
#include <ATen/native/GridSamplerUtils.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace openmps {

namespace {

void replace(std::string& text, std::string_view name, const std::string& value) {
  if (const auto place = text.find(name); place != text.npos) {
    text.replace(place, name.size(), value);
  }
}

std::string textOf(const Refusal& row, at::ScalarType dtype, RefusalArguments arguments) {
  std::string text(row.text);
  replace(text, "{dtype}", c10::toString(dtype));
  if (arguments.size() > 1 && arguments[1].isIntList()) {
    replace(text, "{count}", std::to_string(arguments[1].toIntVector().size()));
  }
  return text;
}

// Raises, unless somebody wants to know of all that a Mac would not do.
void raise(const char* op, const Refusal& row, const std::string& text) {
  const bool is_alert = row.error == RefusalError::Alert;
  const auto told = is_alert ? text + " does not have a deterministic implementation" : text;
  if (tellObserver(std::string("aten::") + op, told.c_str())) {
    return;
  }
  switch (row.error) {
    case RefusalError::RuntimeError:
      TORCH_CHECK(false, text);
    case RefusalError::NotImplementedError:
      TORCH_CHECK_NOT_IMPLEMENTED(false, text);
    case RefusalError::TypeError:
      TORCH_CHECK_TYPE(false, text);
    case RefusalError::Alert:
      // Raises, or warns where the user asked for that.
      at::Context::alertNotDeterministic(row.text);
  }
}

// Whether the row is about this dtype, and about this mode of PyTorch.
bool forbids(const Refusal& row, const at::Tensor& tensor) {
  return tensor.defined() && (row.dtypes >> static_cast<unsigned>(tensor.scalar_type()) & 1) != 0 &&
      (row.error != RefusalError::Alert || at::globalContext().deterministicAlgorithms());
}

// Height and width of the input and of the result.
struct Pool {
  explicit Pool(RefusalArguments arguments) {
    const auto& input = arguments[0].toTensor();
    const auto sizes = arguments[1].toIntVector();
    is_known = input.dim() >= 3 && sizes.size() == 2 && sizes[0] > 0 && sizes[1] > 0;
    if (is_known) {
      input_height = input.size(-2);
      input_width = input.size(-1);
      output_height = sizes[0];
      output_width = sizes[1];
      is_known = input_height > 0 && input_width > 0;
    }
  }
  bool shrinks() const {
    return input_height >= output_height && input_width >= output_width;
  }
  bool grows() const {
    return input_height <= output_height && input_width <= output_width;
  }

  bool is_known = false;
  int64_t input_height = 0;
  int64_t input_width = 0;
  int64_t output_height = 0;
  int64_t output_width = 0;
};

// The name of a reduction, the one string among the arguments.
std::string_view reductionIn(RefusalArguments arguments) {
  for (const auto& argument : arguments) {
    if (argument.isString()) {
      return argument.toStringRef();
    }
  }
  return {};
}

} // namespace

bool mayRefuse(const Refusals& refusals, c10::ArrayRef<const at::Tensor*> tensors) {
  for (size_t index = 0; index < refusals.count; ++index) {
    const auto& row = refusals.rows[index];
    const auto* tensor = tensors[row.argument];
    if (tensor != nullptr && forbids(row, *tensor)) {
      return true;
    }
  }
  return false;
}

void checkRefusals(const char* op, const Refusals& refusals, RefusalArguments arguments) {
  for (size_t index = 0; index < refusals.count; ++index) {
    const auto& row = refusals.rows[index];
    const auto& value = arguments[row.argument];
    if (value.isTensor() && forbids(row, value.toTensor()) &&
        (row.applies == nullptr || row.applies(arguments))) {
      raise(op, row, textOf(row, value.toTensor().scalar_type(), arguments));
    }
  }
}

bool isTransposedInThreeDimensions(RefusalArguments arguments) {
  return arguments[0].toTensor().dim() == 5 && arguments[6].toBool();
}

bool poolsInOppositeDirections(RefusalArguments arguments) {
  const Pool pool(arguments);
  return pool.is_known && !pool.shrinks() && !pool.grows();
}

bool growsUnevenly(RefusalArguments arguments) {
  const Pool pool(arguments);
  return pool.is_known && pool.input_height < pool.output_height &&
      (pool.output_height % pool.input_height != 0 || pool.output_width % pool.input_width != 0);
}

bool shrinksUnevenly(RefusalArguments arguments) {
  const Pool pool(arguments);
  return pool.is_known && pool.input_height >= pool.output_height &&
      (pool.input_height % pool.output_height != 0 || pool.input_width % pool.output_width != 0);
}

bool isWithoutPivot(RefusalArguments arguments) {
  return !arguments[1].toBool();
}

bool isMean(RefusalArguments arguments) {
  return reductionIn(arguments) == "mean";
}

bool isMeanOrProduct(RefusalArguments arguments) {
  const auto reduction = reductionIn(arguments);
  return reduction == "mean" || reduction == "prod";
}

bool isSumOrMeanOrProduct(RefusalArguments arguments) {
  return reductionIn(arguments) == "sum" || isMeanOrProduct(arguments);
}

bool accumulates(RefusalArguments arguments) {
  return arguments[3].toBool();
}

bool isDenseBag(RefusalArguments arguments) {
  return !arguments[9].toBool();
}

bool hasMoreThanFourDimensions(RefusalArguments arguments) {
  return arguments[1].toIntVector().size() > 4;
}

// The mode of interpolation is the first integer.
bool isBicubic(RefusalArguments arguments) {
  constexpr auto bicubic = static_cast<int64_t>(at::native::GridSamplerInterpolation::Bicubic);
  const auto* mode = std::find_if(
      arguments.begin(), arguments.end(), [](const c10::IValue& value) { return value.isInt(); });
  return mode != arguments.end() && mode->toInt() == bicubic;
}

bool hasComplexFactor(RefusalArguments arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [](const c10::IValue& value) {
    return value.isComplexDouble() && value.toComplexDouble().imag() != 0;
  });
}

} // namespace openmps
