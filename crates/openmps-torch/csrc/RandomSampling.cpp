// Random ops with shapes of their own: permutations, categories, counts, dropout.
#include "MPSGeneratorImpl.h"
#include "Profile.h"
#include "RandomFill.h"
#include "Registration.h"

#include <ATen/ExpandUtils.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/multinomial_native.h>
#include <ATen/ops/ones_like.h>

namespace openmps {

namespace {

using OptionalGenerator = std::optional<at::Generator>;

at::Tensor& randpermOut(int64_t n, OptionalGenerator generator, at::Tensor& out) {
  TORCH_CHECK(n >= 0, "n must be non-negative, got", n);
  TORCH_CHECK(
      !generator.has_value() || generator->device() == out.device(),
      "Expected a '",
      out.device(),
      "' generator device but found '",
      generator->device(),
      "'");
  at::native::check_supported_max_int_with_precision(n, out);
  out.resize_({n});
  if (n == 0) {
    return out;
  }
  const auto* handle = generatorHandle(generator);
  fillContiguous(out, [&](const OpenmpsElements* elements) {
    check(openmps_random_permutation(handle, elements));
  });
  return out;
}

// Behind at::native::multinomial, which checks the arguments and draws without replacement itself.
void multinomialWithReplacement(
    at::Tensor& result, const at::Tensor& self, int64_t n_sample, OptionalGenerator generator) {
  const auto weights = self.contiguous();
  const auto elements = elementsOf(weights);
  const auto rows = self.dim() == 1 ? 1 : self.size(0);
  const auto* handle = generatorHandle(generator);
  fillContiguous(result, [&](const OpenmpsElements* out) {
    check(openmps_random_multinomial(
        handle, out, &elements, static_cast<uint64_t>(rows), static_cast<uint64_t>(n_sample)));
  });
}

std::tuple<at::Tensor, at::Tensor> nativeDropout(
    const at::Tensor& input, double p, std::optional<bool> train) {
  if (input.numel() == 0 || !train.value_or(true) || p == 0) {
    return {input.clone(), at::ones_like(input, input.options().dtype(at::kBool))};
  }
  TORCH_CHECK(
      at::isFloatingType(input.scalar_type()) || at::isComplexType(input.scalar_type()),
      "native_dropout_mps: input must be a floating-point or complex tensor, got ",
      input.scalar_type());
  if (at::isComplexType(input.scalar_type())) {
    // One decision for both parts: what is dropped from ones scales the numbers.
    const auto ones = at::ones_like(input, input.options().dtype(c10::toRealValueType(input.scalar_type())));
    const auto [scales, mask] = nativeDropout(ones, p, train);
    return {at::mul(input, scales), mask};
  }
  const auto values = input.contiguous();
  const auto output = at::empty_like(values);
  const auto mask = at::empty_like(values, values.options().dtype(at::kBool));
  drainCurrentStream();
  const auto in_elements = elementsOf(values);
  const auto out_elements = elementsOf(output);
  const auto mask_elements = elementsOf(mask);
  check(openmps_random_dropout(
      generatorHandle(std::nullopt), &out_elements, &mask_elements, &in_elements, p));
  return {output, mask};
}

// One value per element of `first`, from its parameters.
at::Tensor drawCounted(
    uint32_t distribution,
    const at::Tensor& first,
    const at::Tensor* second,
    int64_t row,
    const OptionalGenerator& generator) {
  const auto parameters = first.contiguous();
  const auto result = at::empty_like(parameters);
  if (result.numel() == 0) {
    return result;
  }
  drainCurrentStream();
  const auto first_elements = elementsOf(parameters);
  const auto out_elements = elementsOf(result);
  OpenmpsElements second_elements{};
  if (second != nullptr) {
    second_elements = elementsOf(*second);
  }
  check(openmps_random_counted(
      generatorHandle(generator),
      distribution,
      &out_elements,
      &first_elements,
      second != nullptr ? &second_elements : nullptr,
      static_cast<uint64_t>(row)));
  return result;
}

at::Tensor standardGamma(const at::Tensor& self, OptionalGenerator generator) {
  return drawCounted(OPENMPS_COUNTED_GAMMA, self, nullptr, 0, generator);
}

at::Tensor sampleDirichlet(const at::Tensor& self, OptionalGenerator generator) {
  const int64_t row = self.dim() == 0 ? 1 : self.size(-1);
  return drawCounted(OPENMPS_COUNTED_DIRICHLET, self, nullptr, row, generator);
}

at::Tensor poisson(const at::Tensor& self, OptionalGenerator generator) {
  return drawCounted(OPENMPS_COUNTED_POISSON, self, nullptr, 0, generator);
}

at::Tensor binomial(
    const at::Tensor& count, const at::Tensor& prob, OptionalGenerator generator) {
  TORCH_CHECK_VALUE(
      at::isFloatingType(count.scalar_type()),
      "binomial only supports floating-point dtypes for count, got: ",
      count.scalar_type());
  TORCH_CHECK_VALUE(
      at::isFloatingType(prob.scalar_type()),
      "binomial only supports floating-point dtypes for prob, got: ",
      prob.scalar_type());
  const auto shape = at::infer_size(count.sizes(), prob.sizes());
  const auto probabilities = prob.expand(shape).contiguous();
  return drawCounted(
      OPENMPS_COUNTED_BINOMIAL, count.expand(shape), &probabilities, 0, generator);
}

} // namespace

void registerSamplingOps(torch::Library& library) {
  // Read through the call sites that DispatchStubPatch.cpp redirects.
  at::native::multinomial_with_replacement_stub.set_mps_dispatch_ptr(&multinomialWithReplacement);
  library.impl("multinomial", &ProfiledKernel<"multinomial", &at::native::multinomial>::call);
  library.impl("multinomial.out", &ProfiledKernel<"multinomial.out", &at::native::multinomial_out>::call);
  library.impl("randperm.generator_out", &ProfiledKernel<"randperm.generator_out", &randpermOut>::call);
  library.impl("native_dropout", &ProfiledKernel<"native_dropout", &nativeDropout>::call);
  library.impl("_standard_gamma", &ProfiledKernel<"_standard_gamma", &standardGamma>::call);
  library.impl("_sample_dirichlet", &ProfiledKernel<"_sample_dirichlet", &sampleDirichlet>::call);
  library.impl("poisson", &ProfiledKernel<"poisson", &poisson>::call);
  library.impl("binomial", &ProfiledKernel<"binomial", &binomial>::call);
}

} // namespace openmps
