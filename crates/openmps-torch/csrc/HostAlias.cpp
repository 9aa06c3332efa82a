// openmps::host_alias: the CPU storage behind torch.mps._host_alias_storage.
//
// An operator instead of a C function, so that the plug-in needs no Python: it takes and returns
// uint8 tensors that cover whole storages.
#include "Registration.h"

#include "Status.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>

namespace openmps {

namespace {

at::Tensor hostAlias(const at::Tensor& tensor) {
  const auto storage = tensor.storage();
  TORCH_CHECK_VALUE(
      storage.device_type() == c10::kMPS,
      "getHostAliasStorage: expected an MPS storage, got device=",
      storage.device());
  void* address = storage.mutable_data();
  TORCH_CHECK(
      address != nullptr && openmps_is_arena_address(address),
      "getHostAliasStorage: storage was not allocated by the MPSAllocator");
  // The alias holds the source storage, so the memory outlives the tensor.
  auto* kept = new c10::Storage(storage);
  auto alias = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(),
      storage.nbytes(),
      c10::DataPtr(
          address,
          kept,
          [](void* context) { delete static_cast<c10::Storage*>(context); },
          c10::Device(c10::kCPU)),
      /*allocator=*/nullptr,
      /*resizable=*/false);
  auto result = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(std::move(alias)),
      c10::DispatchKeySet(c10::DispatchKey::CPU),
      caffe2::TypeMeta::Make<uint8_t>());
  result.unsafeGetTensorImpl()->set_sizes_contiguous(
      {static_cast<int64_t>(storage.nbytes())});
  return result;
}

} // namespace

void registerHostAlias() {
  auto& definitions =
      *new torch::Library(torch::Library::DEF, "openmps", std::nullopt, __FILE__, __LINE__);
  definitions.def("host_alias(Tensor tensor) -> Tensor");
  auto& kernels = *new torch::Library(
      torch::Library::IMPL,
      "openmps",
      c10::DispatchKey::CompositeExplicitAutograd,
      __FILE__,
      __LINE__);
  kernels.impl("host_alias", &hostAlias);
}

} // namespace openmps
