// The gradient of cdist for halves.
//
// The CPU has no kernel for halves, and a wide one alone does not help: it divides by the distances or compares differences
// with them, and the distances that it gets were rounded. So they are computed again.
#include "FastOps.h"
#include "Registration.h"

#include <ATen/ops/_cdist_backward_cpu_dispatch.h>
#include <ATen/ops/_cdist_forward.h>

namespace openmps {

namespace {

constexpr FastOp kBackward{
    "_cdist_backward", DeviceCheck::SameDevice, "wrapper_MPS___cdist_backward", {nullptr, 0}};
using Backward = FunctionalKernel<
    kBackward, decltype(&at::cpu::_cdist_backward), &at::cpu::_cdist_backward>;

at::Tensor cdistBackward(
    const at::Tensor& gradient,
    const at::Tensor& x1,
    const at::Tensor& x2,
    double p,
    const at::Tensor& distances) {
  if (C10_LIKELY(!at::isReducedFloatingType(x1.scalar_type()))) {
    return Backward::call(gradient, x1, x2, p, distances);
  }
  const auto wide1 = x1.to(at::kFloat);
  const auto wide2 = x2.to(at::kFloat);
  const auto again = at::_cdist_forward(wide1, wide2, p, std::nullopt);
  return Backward::call(gradient.to(at::kFloat), wide1, wide2, p, again).to(x1.scalar_type());
}

} // namespace

void registerCdist(torch::Library& library) {
  library.impl("_cdist_backward", &cdistBackward);
}

} // namespace openmps
