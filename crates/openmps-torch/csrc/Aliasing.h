// CPU aliases of MPS tensors and the way back.
//
// MPS memory is host memory, so a CPU kernel can work on it directly: `cpuAlias` gives a CPU
// tensor over the same bytes, `adopt` turns a fresh CPU result into an MPS tensor without a copy,
// and `writeBack` carries over what a kernel changed in an argument (sizes, strides, storage).
//
// Two StorageImpls describe one block: the MPS one that users hold, and its CPU "twin", cached in
// the block's user slot. Sharing a single StorageImpl does not work: views made inside CPU kernels
// take their device from it, and DispatchStub then meets an MPS tensor.
#pragma once

#include "ThreadState.h"

#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <optional>
#include <utility>

namespace openmps {

// By the key set, which undefined tensors have too (empty); their device would raise.
inline bool isMps(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->key_set().has_backend(c10::BackendComponent::MPSBit);
}

// What one redispatch replaced: (MPS tensor, its CPU alias) and (MPS storage, its twin).
struct AliasMap {
  c10::SmallVector<std::pair<at::Tensor, at::Tensor>, 8> tensors;
  c10::SmallVector<std::pair<c10::Storage, c10::StorageImpl*>, 2> storages;
};

// The CPU StorageImpl over the memory of an MPS storage. A block's word has two references of it: its own, and a spare one that a
// kernel may give up in the name of a lent storage (AliasImpl.h) before the call ends.
c10::intrusive_ptr<c10::StorageImpl> twinOf(c10::StorageImpl* storage);

// A CPU tensor over the memory of `tensor` (strided, sparse COO or compressed), without autograd
// state. Conjugate and negative bits and the wrapped-number flag are kept. Member tensors of sparse
// layouts are added to `map`, so that results that reuse them find their way back.
at::Tensor cpuAlias(const at::Tensor& tensor, AliasMap* map = nullptr);

// What `cpuAlias` gives, for one call (AliasImpl.h); a CPU tensor stands for itself.
at::Tensor borrowAlias(const at::Tensor& tensor, ThreadState& thread);

// Ends a borrowed alias, whose TensorImpl serves again unless the kernel kept it or made more of it.
void returnAlias(at::Tensor& alias, ThreadState& thread);

// A CPU tensor over the memory of an argument for the time of one call.
class ScopedAlias {
 public:
  explicit ScopedAlias(const at::Tensor& tensor, ThreadState& thread = threadState)
      : thread_(thread), alias_(borrowAlias(tensor, thread)) {}
  ~ScopedAlias() {
    returnAlias(alias_, thread_);
  }
  ScopedAlias(const ScopedAlias&) = delete;
  ScopedAlias& operator=(const ScopedAlias&) = delete;
  at::Tensor& get() {
    return alias_;
  }
  operator const at::Tensor&() const { // NOLINT: stands in the place of an argument
    return alias_;
  }

 private:
  ThreadState& thread_;
  at::Tensor alias_;
};

// Whether `other` is a number of the caller's (`x * 0.5`) that a kernel for `self` first converts to float.
bool isNumberForFloat(const at::Tensor& self, const at::Tensor& other);

// The number as float, for one call. The kernel's own conversion would go through the dispatcher three times (a copy's result, the
// copy, its strides), which takes longer than a small op.
at::Tensor borrowNumber(const at::Tensor& number, ThreadState& thread);

// The second operand of an op that computes in the common dtype of both: an alias as above, numbers as float where that is it.
class ScopedOperand {
 public:
  ScopedOperand(const at::Tensor& self, const at::Tensor& other, ThreadState& thread)
      : thread_(thread),
        is_number_(C10_UNLIKELY(!isMps(other)) && isNumberForFloat(self, other)),
        alias_(is_number_ ? borrowNumber(other, thread) : borrowAlias(other, thread)) {}
  ~ScopedOperand() {
    if (!is_number_) {
      returnAlias(alias_, thread_);
    }
  }
  ScopedOperand(const ScopedOperand&) = delete;
  ScopedOperand& operator=(const ScopedOperand&) = delete;
  operator const at::Tensor&() const { // NOLINT: as above
    return alias_;
  }

 private:
  ThreadState& thread_;
  const bool is_number_;
  at::Tensor alias_;
};

// A CPU tensor over the memory of an argument that may be left out.
class ScopedOptionalAlias {
 public:
  ScopedOptionalAlias(const std::optional<at::Tensor>& tensor, ThreadState& thread) : thread_(thread) {
    if (tensor) {
      alias_ = borrowAlias(*tensor, thread);
    }
  }
  ~ScopedOptionalAlias() {
    if (alias_) {
      returnAlias(*alias_, thread_);
    }
  }
  ScopedOptionalAlias(const ScopedOptionalAlias&) = delete;
  ScopedOptionalAlias& operator=(const ScopedOptionalAlias&) = delete;
  operator const std::optional<at::Tensor>&() const { // NOLINT: as above
    return alias_;
  }

 private:
  ThreadState& thread_;
  std::optional<at::Tensor> alias_;
};

// The same for each tensor of a list.
class ScopedAliasList {
 public:
  template <class List>
  ScopedAliasList(const List& list, ThreadState& thread) : thread_(thread) {
    aliases_.reserve(list.size());
    for (const at::Tensor& tensor : list) {
      aliases_.push_back(borrowAlias(tensor, thread));
    }
  }
  ~ScopedAliasList() {
    for (at::Tensor& alias : aliases_) {
      returnAlias(alias, thread_);
    }
  }
  ScopedAliasList(const ScopedAliasList&) = delete;
  ScopedAliasList& operator=(const ScopedAliasList&) = delete;
  operator at::TensorList() const { // NOLINT: as above
    return aliases_;
  }
  operator at::ITensorListRef() const { // NOLINT: as above
    return at::TensorList(aliases_);
  }

 private:
  ThreadState& thread_;
  c10::SmallVector<at::Tensor, 4> aliases_;
};

// The MPS tensor for a result of a CPU kernel; in place when nobody else holds `result`. A result
// that is a view of an argument in `map` gets that argument's MPS storage.
at::Tensor adopt(at::Tensor&& result, const AliasMap* map = nullptr);

// Copies what a kernel changed in the metadata or storage of `alias` back into `original`.
// Must run once per pair: after a resize the alias no longer owns the new block.
void writeBack(const at::Tensor& original, const at::Tensor& alias, const AliasMap& map);

} // namespace openmps
