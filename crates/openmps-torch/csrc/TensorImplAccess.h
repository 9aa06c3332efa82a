// Legal access to protected fields of c10::TensorImpl: a derived class may name them, and a
// pointer to member works on any object. Nothing here depends on the class's layout.
#pragma once

#include <c10/core/TensorImpl.h>

namespace openmps {

class TensorImplAccess final : public c10::TensorImpl {
 public:
  static c10::DispatchKeySet& keySet(c10::TensorImpl* impl) {
    return impl->*(&TensorImplAccess::key_set_);
  }
  static std::optional<c10::Device>& device(c10::TensorImpl* impl) {
    return impl->*(&TensorImplAccess::device_opt_);
  }
  static c10::Storage& storage(c10::TensorImpl* impl) {
    return impl->*(&TensorImplAccess::storage_);
  }
  static caffe2::TypeMeta& dtype(c10::TensorImpl* impl) {
    return impl->*(&TensorImplAccess::data_type_);
  }
  // Whether the tensor has names, symbolic sizes or the like.
  static bool hasExtraMeta(const c10::TensorImpl* impl) {
    return impl->*(&TensorImplAccess::extra_meta_) != nullptr;
  }
  static void copyMetadata(const c10::TensorImpl* source, c10::TensorImpl* target) {
    copy_tensor_metadata(
        source, target, c10::VariableVersion(c10::VariableVersion::DISABLED), true);
  }
  TensorImplAccess() = delete;
};

// Whether a tensor of this backend is dense and answers for itself: layout, sizes and storage are what its fields say. Neither
// a sparse or nested tensor nor one that asks Python or functorch has these keys.
inline bool isPlainDense(c10::DispatchKeySet keys, c10::BackendComponent backend) {
  constexpr c10::DispatchKeySet dense{c10::DispatchKey::Dense};
  constexpr c10::DispatchKeySet indirect{
      c10::DispatchKey::Python,
      c10::DispatchKey::Functionalize,
      c10::DispatchKey::FuncTorchBatched,
      c10::DispatchKey::Batched,
      c10::DispatchKey::FuncTorchGradWrapper,
      c10::DispatchKey::Sparse,
      c10::DispatchKey::SparseCsr,
      c10::DispatchKey::Quantized,
      c10::DispatchKey::NestedTensor};
  const c10::DispatchKeySet wanted = dense | c10::DispatchKeySet(backend);
  return ((keys & (indirect | wanted)) ^ wanted).empty();
}

// The storage of a tensor that may be asked for it, or null. Plain tensors are not asked, which is a virtual call.
inline c10::StorageImpl* storageOf(const c10::TensorImpl* impl, bool is_plain) {
  return C10_LIKELY(is_plain || impl->has_storage()) ? impl->unsafe_storage().unsafeGetStorageImpl() : nullptr;
}

} // namespace openmps
