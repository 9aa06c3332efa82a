// The TensorImpl of an alias that lives for one call. Making and destroying one costs more than the rest of an alias, so a thread
// keeps those that came back (ThreadState.h) and has them stand for the next arguments.
//
// Its storage is lent: the twin (Aliasing.h) lives at least as long as the argument's block, so the alias takes no reference of
// its own, which would be two atomic additions a call. What a kernel takes of the alias or its storage is counted as ever.
// `takeBack` settles the account if the kernel kept the alias or gave it another storage.
#pragma once

#include "TensorImplAccess.h"

#include <c10/core/TensorImpl.h>

#include <utility>

namespace openmps {

class AliasImpl final : public c10::TensorImpl {
 public:
  // An alias over a storage of its own, without a shape yet.
  AliasImpl(c10::Storage&& storage, c10::DispatchKeySet keys, caffe2::TypeMeta dtype)
      : c10::TensorImpl(c10::TensorImpl::VIEW, std::move(storage), keys, dtype) {}

  // Stands for `source`, a plain dense tensor, with other keys and over `twin`, which outlives the call.
  void lend(const c10::TensorImpl& source, c10::DispatchKeySet keys, c10::StorageImpl* twin) {
    lent_ = twin;
    storage_ = c10::Storage(c10::intrusive_ptr<c10::StorageImpl>::reclaim(twin));
    key_set_ = keys;
    copyShape(source);
  }

  // Sizes, strides, offset, dtype and flags of a plain dense tensor.
  void copyShape(const c10::TensorImpl& source) {
    if (source.has_symbolic_sizes_strides()) {
      __builtin_unreachable(); // Kept in extra metadata, which a plain tensor has not; lets the compiler reduce what follows.
    }
    sizes_and_strides_ = source.*(&AliasImpl::sizes_and_strides_);
    storage_offset_ = source.*(&AliasImpl::storage_offset_);
    numel_ = source.*(&AliasImpl::numel_);
    data_type_ = source.dtype();
    is_contiguous_ = source.is_contiguous_default(at::MemoryFormat::Contiguous);
    is_channels_last_contiguous_ = source.is_contiguous_default(at::MemoryFormat::ChannelsLast);
    is_channels_last_3d_contiguous_ = source.is_contiguous_default(at::MemoryFormat::ChannelsLast3d);
    is_channels_last_ = source.is_strides_like_default(at::MemoryFormat::ChannelsLast);
    is_channels_last_3d_ = source.is_strides_like_default(at::MemoryFormat::ChannelsLast3d);
    is_non_overlapping_and_dense_ = source.is_non_overlapping_and_dense_default();
    is_wrapped_number_ = source.is_wrapped_number();
  }

  // Ends the call. True if the alias, of which the caller holds a reference, is as good as new: nobody else has it, and it has
  // nothing that `lend` does not set.
  bool takeBack(bool is_sole_owner) {
    auto* lent = std::exchange(lent_, nullptr);
    const bool is_reusable = is_sole_owner && autograd_meta() == nullptr && !TensorImplAccess::hasExtraMeta(this) &&
        pyobj_slot_.load_pyobj() == nullptr;
    if (lent != nullptr) {
      if (C10_LIKELY(is_reusable && storage_.unsafeGetStorageImpl() == lent)) {
        storage_.unsafeReleaseStorageImpl();
        return true;
      }
      // The reference that the storage's owner has given up by now, or will.
      c10::raw::intrusive_ptr::incref(lent);
    }
    if (is_reusable) {
      storage_ = c10::Storage();
    }
    return is_reusable;
  }

 private:
  c10::StorageImpl* lent_ = nullptr;
};

} // namespace openmps
