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
  // Whether the tensor is dense and has nothing that `borrowAlias` does not set anew.
  static bool isPlain(const c10::TensorImpl* impl) {
    return impl->key_set().has(c10::DispatchKey::CPU) && impl->*(&TensorImplAccess::storage_) &&
        impl->autograd_meta() == nullptr &&
        !hasExtraMeta(impl) &&
        (impl->*(&TensorImplAccess::pyobj_slot_)).load_pyobj() == nullptr;
  }
  // Whether the tensor has names, symbolic sizes or the like.
  static bool hasExtraMeta(const c10::TensorImpl* impl) {
    return impl->*(&TensorImplAccess::extra_meta_) != nullptr;
  }
  // Sizes, strides, offset, dtype and flags: all but storage, key set and what autograd keeps.
  static void copyShape(const c10::TensorImpl* source, c10::TensorImpl* target) {
    copy_generic_tensor_metadata(source, target);
  }
  static void copyMetadata(const c10::TensorImpl* source, c10::TensorImpl* target) {
    copy_tensor_metadata(
        source, target, c10::VariableVersion(c10::VariableVersion::DISABLED), true);
  }
  TensorImplAccess() = delete;
};

} // namespace openmps
