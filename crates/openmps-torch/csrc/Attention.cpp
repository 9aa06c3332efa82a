// scaled_dot_product_attention: the CPU's fused kernel where it takes the arguments, else the composite, as on a Mac.
//
// PyTorch's composite calls `_scaled_dot_product_attention_math_for_mps` where nothing is differentiated, and is taken apart into
// plain operators elsewhere; so it is here for whoever looks at operators (dispatch modes, function transforms, compiled
// training). A program that only computes gets the fused kernel: plain operators cost a small GPT half of its forward pass.
#include "FastOps.h"
#include "Registration.h"

// The dispatcher of CPU kernels takes one pointer per instruction set that libtorch_cpu was built for.
#if defined(__x86_64__)
#define HAVE_AVX512_CPU_DEFINITION
#define HAVE_AVX2_CPU_DEFINITION
#endif
#include <ATen/native/transformers/attention.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/_scaled_dot_product_attention_math.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward_cpu_dispatch.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_cpu_dispatch.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/scaled_dot_product_attention_native.h>
#include <ATen/ops/where.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <limits>

namespace openmps {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr FastOp kForwardOp{
    "_scaled_dot_product_flash_attention_for_cpu", DeviceCheck::None, "", {nullptr, 0}};
constexpr FastOp kBackwardOp{
    "_scaled_dot_product_flash_attention_for_cpu_backward", DeviceCheck::None, "", {nullptr, 0}};
constexpr auto kForwardFunction = &at::cpu::_scaled_dot_product_flash_attention_for_cpu;
constexpr auto kBackwardFunction = &at::cpu::_scaled_dot_product_flash_attention_for_cpu_backward;
using Forward =
    FunctionalKernel<kForwardOp, std::remove_const_t<decltype(kForwardFunction)>, kForwardFunction>;
using Backward = FunctionalKernel<
    kBackwardOp,
    std::remove_const_t<decltype(kBackwardFunction)>,
    kBackwardFunction>;

// Gradients of the inputs that want one, as differentiable operators compute them: the fused kernel's gradient has none.
variable_list gradientsOfOperators(
    const variable_list& inputs,
    const std::optional<at::Tensor>& mask,
    bool is_causal,
    std::optional<double> scale,
    const at::Tensor& gradient) {
  variable_list wanted;
  for (const auto& input : inputs) {
    if (input.requires_grad()) {
      wanted.push_back(input);
    }
  }
  const auto output = std::get<0>(at::_scaled_dot_product_attention_math(
      inputs[0], inputs[1], inputs[2], mask, 0.0, is_causal, std::nullopt, scale));
  const auto found = torch::autograd::grad(
      {output}, wanted, {gradient}, /*retain_graph=*/true, /*create_graph=*/true);
  variable_list gradients(6);
  size_t next = 0;
  for (size_t index = 0; index < inputs.size(); ++index) {
    if (inputs[index].requires_grad()) {
      gradients[index] = found[next++];
    }
  }
  return gradients;
}

struct FusedAttention : torch::autograd::Function<FusedAttention> {
  static at::Tensor forward(
      AutogradContext* context,
      const at::Tensor& query,
      const at::Tensor& key,
      const at::Tensor& value,
      const std::optional<at::Tensor>& mask,
      bool is_causal,
      std::optional<double> scale) {
    auto [output, logsumexp] = Forward::call(query, key, value, 0.0, is_causal, mask, scale);
    context->save_for_backward(
        {query, key, value, mask.value_or(at::Tensor()), output, logsumexp});
    context->saved_data["is_causal"] = is_causal;
    context->saved_data["scale"] = scale;
    return output;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    if (!gradients[0].defined()) {
      return variable_list(6);
    }
    const auto saved = context->get_saved_variables();
    const auto mask = saved[3].defined() ? std::optional(saved[3]) : std::nullopt;
    const bool is_causal = context->saved_data["is_causal"].toBool();
    const auto scale = context->saved_data["scale"].toOptional<double>();
    if (at::GradMode::is_enabled()) {
      return gradientsOfOperators(
          {saved[0], saved[1], saved[2]}, mask, is_causal, scale, gradients[0]);
    }
    auto [query, key, value] = Backward::call(
        gradients[0], saved[0], saved[1], saved[2], saved[4], saved[5], 0.0, is_causal, mask, scale);
    return {query, key, value, {}, {}, {}};
  }
};

struct Arguments {
  const at::Tensor& query;
  const at::Tensor& key;
  const at::Tensor& value;
  const std::optional<at::Tensor>& mask;
  double dropout_p;
  bool is_causal;
  std::optional<double> scale;
  bool enable_gqa;

  template <class Predicate>
  bool all(Predicate predicate) const {
    return predicate(query) && predicate(key) && predicate(value) && (!mask || predicate(*mask));
  }
};

// What the composite would accept; it raises for the rest.
bool areValid(const Arguments& arguments) {
  const auto dtype = arguments.query.scalar_type();
  const auto is_alike = [dtype](const at::Tensor& tensor) {
    return isMps(tensor) && tensor.layout() == c10::kStrided && tensor.dim() >= 2 &&
        tensor.scalar_type() == dtype;
  };
  if (!is_alike(arguments.query) || !is_alike(arguments.key) || !is_alike(arguments.value)) {
    return false;
  }
  return !arguments.mask ||
      (!arguments.is_causal && isMps(*arguments.mask) &&
       (arguments.mask->scalar_type() == at::kBool || arguments.mask->scalar_type() == dtype));
}

bool areDifferentiated(const Arguments& arguments) {
  return at::GradMode::is_enabled() &&
      !arguments.all([](const at::Tensor& tensor) { return !tensor.requires_grad(); });
}

// Whether nobody looks at operators: neither a mode, nor a tensor that stands for others.
bool arePlain(const Arguments& arguments) {
  constexpr c10::DispatchKeySet standing_for_others(
      {c10::DispatchKey::Python, c10::DispatchKey::FuncTorchGradWrapper,
       c10::DispatchKey::FuncTorchBatched, c10::DispatchKey::Functionalize});
  return !c10::impl::TorchDispatchModeTLS::any_modes_set() &&
      !c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::FuncTorchDynamicLayerFrontMode) &&
      arguments.all([&](const at::Tensor& tensor) {
        return !tensor.key_set().has_any(standing_for_others) && !tensor._fw_grad(/*level=*/0).defined();
      });
}

bool takesFusedKernel(const Arguments& arguments) {
  if (!arePlain(arguments) || (arguments.mask && arguments.mask->requires_grad())) {
    return false;
  }
  const auto choice = at::native::_fused_sdp_choice_stub(
      c10::kCPU,
      arguments.query,
      arguments.key,
      arguments.value,
      arguments.mask,
      arguments.dropout_p,
      arguments.is_causal,
      arguments.scale,
      arguments.enable_gqa);
  return choice == static_cast<int64_t>(sdp::SDPBackend::flash_attention);
}

// A mask of what takes part, as one that is added.
std::optional<at::Tensor> addedMask(const std::optional<at::Tensor>& mask, at::ScalarType dtype) {
  if (!mask || mask->scalar_type() != at::kBool) {
    return mask;
  }
  const auto options = mask->options().dtype(dtype);
  return at::where(
      mask->logical_not(),
      at::scalar_tensor(-std::numeric_limits<double>::infinity(), options),
      at::scalar_tensor(0.0, options));
}

at::Tensor scaledDotProductAttention(
    const at::Tensor& query,
    const at::Tensor& key,
    const at::Tensor& value,
    const std::optional<at::Tensor>& attn_mask,
    double dropout_p,
    bool is_causal,
    std::optional<double> scale,
    bool enable_gqa) {
  const Arguments arguments{
      query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa};
  if (areValid(arguments) && takesFusedKernel(arguments)) {
    const auto mask = addedMask(attn_mask, query.scalar_type());
    return areDifferentiated(arguments)
        ? FusedAttention::apply(query, key, value, mask, is_causal, scale)
        : std::get<0>(Forward::call(query, key, value, 0.0, is_causal, mask, scale));
  }
  return at::native::scaled_dot_product_attention(
      query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa);
}

std::tuple<at::Tensor, at::Tensor> scaledDotProductAttentionMathForMps(
    const at::Tensor& query,
    const at::Tensor& key,
    const at::Tensor& value,
    const std::optional<at::Tensor>& attn_mask,
    double dropout_p,
    bool is_causal,
    const std::optional<at::Tensor>& dropout_mask,
    std::optional<double> scale,
    bool enable_gqa) {
  return at::_scaled_dot_product_attention_math(
      query, key, value, attn_mask, dropout_p, is_causal, dropout_mask, scale, enable_gqa);
}

} // namespace

void registerAttention(torch::Library& library, torch::Library& autograd) {
  library.impl("scaled_dot_product_attention", &scaledDotProductAttention);
  // Differentiable: by its own function, or since it calls differentiable ops.
  autograd.impl("scaled_dot_product_attention", &scaledDotProductAttention);
  library.impl(
      "_scaled_dot_product_attention_math_for_mps", &scaledDotProductAttentionMathForMps);
}

} // namespace openmps
