// What scaled_dot_product_attention's composite does with MPS tensors: as on the CPU, the fused kernel
// where it can take the arguments, else plain operators.
#include "Registration.h"

// The dispatcher of CPU kernels takes one pointer per instruction set that libtorch_cpu was built for.
#if defined(__x86_64__)
#define HAVE_AVX512_CPU_DEFINITION
#define HAVE_AVX2_CPU_DEFINITION
#endif
#include <ATen/native/transformers/attention.h>

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

// The choice depends on shapes, dtypes and switches, not on the device; the composite then calls
// _scaled_dot_product_flash_attention_for_cpu, which gen_ops.py registers for MPS. Plain operators
// cost a small GPT half of its forward pass.
int64_t fusedSdpChoice(
    const at::Tensor& query,
    const at::Tensor& key,
    const at::Tensor& value,
    const std::optional<at::Tensor>& attn_mask,
    double dropout_p,
    bool is_causal,
    std::optional<double> scale,
    bool enable_gqa) {
  return at::native::_fused_sdp_choice_stub(
      c10::kCPU, query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa);
}

} // namespace

void registerAttention(torch::Library& library) {
  at::native::_fused_sdp_choice_stub.set_mps_dispatch_ptr(&fusedSdpChoice);
  library.impl(
      "_scaled_dot_product_attention_math_for_mps", &scaledDotProductAttentionMathForMps);
}

} // namespace openmps
