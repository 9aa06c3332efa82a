// Ops that only the real backend has kernels for, by the ops that every backend has.
//
// PyTorch's composite code asks for the real backend before it calls these, so only programs that name them get here.
// _lstm_mps is in Lstm.cpp.
#include "Registration.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/max_pool2d_with_indices.h>
#include <ATen/ops/max_pool2d_with_indices_backward.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/stack.h>

#include <array>
#include <tuple>
#include <vector>

namespace openmps {

namespace {

using at::IntArrayRef;
using at::Tensor;

Tensor convolution(
    const Tensor& self,
    const Tensor& weight,
    const std::optional<Tensor>& bias,
    IntArrayRef padding,
    IntArrayRef stride,
    IntArrayRef dilation,
    int64_t groups) {
  const std::vector<int64_t> no_padding(padding.size(), 0);
  return at::convolution(
      self, weight, bias, stride, padding, dilation, /*transposed=*/false, no_padding, groups);
}

Tensor convolutionTranspose(
    const Tensor& self,
    const Tensor& weight,
    IntArrayRef padding,
    IntArrayRef output_padding,
    IntArrayRef stride,
    IntArrayRef dilation,
    int64_t groups) {
  return at::convolution(
      self, weight, {}, stride, padding, dilation, /*transposed=*/true, output_padding, groups);
}

std::tuple<Tensor, Tensor, Tensor> convolutionBackward(
    const Tensor& self,
    const Tensor& grad_output,
    const Tensor& weight,
    IntArrayRef padding,
    IntArrayRef stride,
    IntArrayRef dilation,
    int64_t groups,
    std::array<bool, 3> output_mask) {
  const std::vector<int64_t> no_padding(padding.size(), 0);
  const std::array<int64_t, 1> bias_sizes{weight.size(0)};
  return at::convolution_backward(
      grad_output, self, weight, IntArrayRef(bias_sizes), stride, padding, dilation,
      /*transposed=*/false, no_padding, groups, output_mask);
}

std::tuple<Tensor, Tensor> convolutionTransposeBackward(
    const Tensor& self,
    const Tensor& grad_output,
    const Tensor& weight,
    IntArrayRef padding,
    IntArrayRef output_padding,
    IntArrayRef stride,
    IntArrayRef dilation,
    int64_t groups,
    std::array<bool, 2> output_mask) {
  auto [grad_input, grad_weight, grad_bias] = at::convolution_backward(
      grad_output, self, weight, at::OptionalIntArrayRef(), stride, padding, dilation,
      /*transposed=*/true, output_padding, groups, {output_mask[0], output_mask[1], false});
  return {std::move(grad_input), std::move(grad_weight)};
}

std::tuple<Tensor, Tensor, Tensor> linearBackward(
    const Tensor& self,
    const Tensor& grad_output,
    const Tensor& weight,
    std::array<bool, 3> output_mask) {
  const auto rows = grad_output.reshape({-1, weight.size(0)});
  Tensor grad_self;
  Tensor grad_weight;
  Tensor grad_bias;
  if (output_mask[0]) {
    grad_self = at::mm(rows, weight).view(self.sizes());
  }
  if (output_mask[1]) {
    grad_weight = at::mm(rows.t(), self.reshape({-1, weight.size(1)}));
  }
  if (output_mask[2]) {
    grad_bias = rows.sum(0);
  }
  return {grad_self, grad_weight, grad_bias};
}

Tensor maxPool2dBackward(
    const Tensor& grad_output,
    const Tensor& self,
    IntArrayRef kernel_size,
    IntArrayRef stride,
    IntArrayRef padding,
    IntArrayRef dilation,
    bool ceil_mode) {
  const auto indices = std::get<1>(
      at::max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode));
  return at::max_pool2d_with_indices_backward(
      grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices);
}

// Two weights a byte, [N, K / 2], the even column in the low half. The packed shape is the one that every backend reports; the
// bytes in it keep their order.
Tensor convertWeightToInt4pack(const Tensor& self, int64_t inner_k_tiles) {
  TORCH_CHECK(self.dim() == 2, "_convert_weight_to_int4pack_mps : expect weight to be 2D tensor.");
  TORCH_CHECK(
      self.scalar_type() == at::kByte, "_convert_weight_to_int4pack_mps : expect weight to be kByte.");
  TORCH_CHECK(
      inner_k_tiles == 2 || inner_k_tiles == 4 || inner_k_tiles == 8,
      "_convert_weight_to_int4pack_mps : innerKTiles need to be 2, 4, or 8, got ",
      inner_k_tiles);
  const int64_t rows = self.size(0);
  const int64_t columns = self.size(1) * 2;
  TORCH_CHECK(
      rows % 8 == 0 && columns % (16 * inner_k_tiles) == 0,
      "_convert_weight_to_int4pack: expects N divisible by 8 and K by ",
      16 * inner_k_tiles,
      ", got ",
      rows,
      " and ",
      columns);
  return self.contiguous().view(at::kInt).clone().view(
      {rows / 8, columns / (inner_k_tiles * 16), 32, inner_k_tiles / 2});
}

// self [M, K] times the dequantized [N, K] weights; scales and zeros are [K / group, N, 2].
Tensor weightInt4packMm(
    const Tensor& self, const Tensor& mat2, int64_t group_size, const Tensor& scales_and_zeros) {
  TORCH_CHECK(self.dim() == 2, "_weight_int4pack_mm_mps : expect A to be 2D tensor.");
  TORCH_CHECK(
      self.scalar_type() == at::kFloat || self.scalar_type() == at::kHalf ||
          self.scalar_type() == at::kBFloat16,
      "_weight_int4pack_mm_mps : expect A to be either 32-bit or 16-bit float tensor.");
  TORCH_CHECK(self.is_contiguous(), "_weight_int4pack_mm_mps : expect A to be contiguous.");
  TORCH_CHECK(
      mat2.scalar_type() == at::kInt, "_weight_int4pack_mm_mps : expect B to be int32 tensor.");
  TORCH_CHECK(mat2.is_contiguous(), "_weight_int4pack_mm_mps : expect B to be contiguous.");
  TORCH_CHECK(mat2.dim() == 4, "_weight_int4pack_mm_mps : expect B to 4d tensor.");
  TORCH_CHECK(
      group_size == 32 || group_size == 64 || group_size == 128 || group_size == 256,
      "_weight_int4pack_mm_mps: expect qGroupSize to be 32, 64, 128 or 256, got ",
      group_size);
  TORCH_CHECK(
      scales_and_zeros.dim() == 3 && scales_and_zeros.size(1) == mat2.size(0) * 8 &&
          scales_and_zeros.size(2) == 2,
      "_weight_int4pack_mm_mps: expect qScaleAndZeros to be 3d tensor with sizes [:, ",
      mat2.size(0) * 8,
      ", 2]");
  const int64_t rows = mat2.size(0) * 8;
  const int64_t columns = self.size(1);
  const auto bytes = mat2.contiguous().view({rows, columns / 8}).view(at::kByte);
  const auto codes = at::stack({bytes.bitwise_and(15), bytes.bitwise_right_shift(4)}, -1)
                         .view({rows, columns / group_size, group_size});
  const auto scales = scales_and_zeros.select(2, 0).t().unsqueeze(-1);
  const auto zeros = scales_and_zeros.select(2, 1).t().unsqueeze(-1);
  const auto weight =
      codes.to(at::kFloat).sub(8).mul(scales.to(at::kFloat)).add(zeros.to(at::kFloat));
  return at::mm(self.to(at::kFloat), weight.view({rows, columns}).t()).to(self.scalar_type());
}

} // namespace

void registerMpsOnlyOps(torch::Library& library) {
  library.impl("_mps_convolution", &convolution);
  library.impl("mps_convolution_backward", &convolutionBackward);
  library.impl("_mps_convolution_transpose", &convolutionTranspose);
  library.impl("mps_convolution_transpose_backward", &convolutionTransposeBackward);
  library.impl("linear_backward", &linearBackward);
  library.impl("max_pool2d_backward", &maxPool2dBackward);
  library.impl("_convert_weight_to_int4pack", &convertWeightToInt4pack);
  library.impl("_weight_int4pack_mm", &weightInt4packMm);
}

} // namespace openmps
