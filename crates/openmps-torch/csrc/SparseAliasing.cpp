// Sparse tensors are small structs of dense ones: alias or adopt each member.
#include "SparseAliasing.h"

#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>
#include <c10/core/InferenceMode.h>

namespace openmps {

namespace {

at::SparseTensorImpl* cooImpl(const at::Tensor& tensor) {
  return static_cast<at::SparseTensorImpl*>(tensor.unsafeGetTensorImpl());
}

at::SparseCsrTensorImpl* compressedImpl(const at::Tensor& tensor) {
  return static_cast<at::SparseCsrTensorImpl*>(tensor.unsafeGetTensorImpl());
}

bool isCompressed(const at::Tensor& tensor) {
  const auto layout = tensor.layout();
  return layout == c10::kSparseCsr || layout == c10::kSparseCsc || layout == c10::kSparseBsr ||
      layout == c10::kSparseBsc;
}

at::Tensor adoptMember(const at::Tensor& member, const AliasMap* map) {
  return adopt(at::Tensor(member), map);
}

at::Tensor memberAlias(const at::Tensor& member, AliasMap* map) {
  auto alias = cpuAlias(member);
  if (map != nullptr) {
    map->tensors.emplace_back(member, alias);
  }
  return alias;
}

at::Tensor makeCoo(
    const at::SparseTensorImpl* shape,
    const at::Tensor& indices,
    const at::Tensor& values,
    c10::DispatchKey key) {
  auto result =
      at::detail::make_tensor<at::SparseTensorImpl>(c10::DispatchKeySet(key), values.dtype());
  auto* impl = cooImpl(result);
  impl->resize_(shape->sparse_dim(), shape->dense_dim(), shape->sizes());
  impl->set_indices_and_values_unsafe(indices, values);
  impl->set_nnz_and_narrow(values.size(0));
  impl->set_coalesced(shape->coalesced());
  return result;
}

} // namespace

at::Tensor sparseCpuAlias(const at::Tensor& tensor, AliasMap* map) {
  c10::InferenceMode no_autograd(true);
  if (tensor.layout() == c10::kSparse) {
    const auto* impl = cooImpl(tensor);
    return makeCoo(
        impl, memberAlias(impl->indices(), map), memberAlias(impl->values(), map), c10::DispatchKey::SparseCPU);
  }
  TORCH_CHECK_NOT_IMPLEMENTED(
      isCompressed(tensor), "mps: layout ", tensor.layout(), " is not supported");
  const auto* impl = compressedImpl(tensor);
  auto alias = at::detail::make_tensor<at::SparseCsrTensorImpl>(
      c10::DispatchKeySet(c10::DispatchKey::SparseCsrCPU),
      c10::Device(c10::kCPU),
      tensor.layout(),
      tensor.dtype());
  compressedImpl(alias)->set_member_tensors(
      memberAlias(impl->compressed_indices(), map),
      memberAlias(impl->plain_indices(), map),
      memberAlias(impl->values(), map),
      tensor.sizes());
  return alias;
}

at::Tensor sparseAdopt(const at::Tensor& result, const AliasMap* map) {
  if (result.layout() == c10::kSparse) {
    const auto* impl = cooImpl(result);
    return makeCoo(
        impl,
        adoptMember(impl->indices(), map),
        adoptMember(impl->values(), map),
        c10::DispatchKey::SparseMPS);
  }
  TORCH_CHECK_NOT_IMPLEMENTED(
      isCompressed(result), "mps: layout ", result.layout(), " is not supported");
  const auto* impl = compressedImpl(result);
  auto adopted = at::detail::make_tensor<at::SparseCsrTensorImpl>(
      c10::DispatchKeySet(c10::DispatchKey::SparseCsrMPS),
      c10::Device(c10::kMPS, 0),
      result.layout(),
      result.dtype());
  compressedImpl(adopted)->set_member_tensors(
      adoptMember(impl->compressed_indices(), map),
      adoptMember(impl->plain_indices(), map),
      adoptMember(impl->values(), map),
      result.sizes());
  return adopted;
}

void sparseWriteBack(
    const at::Tensor& original, const at::Tensor& alias, const AliasMap& map) {
  if (original.layout() == c10::kSparse) {
    auto* target = cooImpl(original);
    const auto* source = cooImpl(alias);
    if (target->sizes() != source->sizes() || target->sparse_dim() != source->sparse_dim()) {
      target->raw_resize_(source->sparse_dim(), source->dense_dim(), source->sizes());
    }
    target->set_indices_and_values_unsafe(
        adoptMember(source->indices(), &map), adoptMember(source->values(), &map));
    target->set_coalesced(source->coalesced());
    return;
  }
  const auto* source = compressedImpl(alias);
  compressedImpl(original)->set_member_tensors(
      adoptMember(source->compressed_indices(), &map),
      adoptMember(source->plain_indices(), &map),
      adoptMember(source->values(), &map),
      source->sizes());
}

} // namespace openmps
