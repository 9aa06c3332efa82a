// linear, which is a composite here and has a kernel of its own on a Mac. That kernel takes floating and complex tensors only,
// while the matrix products behind the composite take integers in both places; so it is looked at before it is taken apart.
#include "Refusals.h"
#include "Registration.h"

#include <ATen/ops/linear_native.h>

namespace openmps {

namespace {

constexpr uint64_t bit(at::ScalarType dtype) {
  return 1ULL << static_cast<int>(dtype);
}

constexpr uint64_t kRefused =
    ~(bit(at::kHalf) | bit(at::kFloat) | bit(at::kBFloat16) | bit(at::kComplexHalf) | bit(at::kComplexFloat));

constexpr Refusal kRefusals[] = {
    {0, RefusalError::RuntimeError, kRefused, nullptr, "MPS device does not support linear for non-float inputs"},
    {1, RefusalError::RuntimeError, kRefused, nullptr, "MPS device does not support linear for non-float weights"},
    {2, RefusalError::RuntimeError, kRefused, nullptr, "MPS device does not support linear for non-float bias"},
};

at::Tensor linear(
    const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias) {
  const Refusals refusals{kRefusals, std::size(kRefusals)};
  if (C10_UNLIKELY(mayRefuse(refusals, std::array{&input, &weight, bias ? &*bias : nullptr}))) {
    checkRefusals("linear", refusals, std::array<c10::IValue, 3>{input, weight, bias});
  }
  return at::native::linear(input, weight, bias);
}

} // namespace

void registerLinear(torch::Library& library, torch::Library& autograd) {
  library.impl("linear", &linear);
  // Differentiable, since it calls differentiable ops.
  autograd.impl("linear", &linear);
}

} // namespace openmps
