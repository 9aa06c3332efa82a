// The op that scaled_dot_product_attention's composite calls for MPS tensors.
#include "Registration.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/_scaled_dot_product_attention_math.h>

namespace openmps {

namespace {

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

void registerAttention(torch::Library& library) {
  library.impl(
      "_scaled_dot_product_attention_math_for_mps", &scaledDotProductAttentionMathForMps);
}

} // namespace openmps
