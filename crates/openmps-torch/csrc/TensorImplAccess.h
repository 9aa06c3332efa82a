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
  // Whether the tensor has anything that `ScopedAlias` does not set anew.
  static bool isPlain(const c10::TensorImpl* impl) {
    return impl->autograd_meta() == nullptr &&
        impl->*(&TensorImplAccess::extra_meta_) == nullptr &&
        (impl->*(&TensorImplAccess::pyobj_slot_)).load_pyobj() == nullptr;
  }
  static void copyMetadata(const c10::TensorImpl* source, c10::TensorImpl* target) {
    copy_tensor_metadata(
        source, target, c10::VariableVersion(c10::VariableVersion::DISABLED), true);
  }
  TensorImplAccess() = delete;
};

} // namespace openmps
