// CPU aliases of dense MPS tensors and the way back. Sparse layouts: SparseAliasing.cpp.
#include "Aliasing.h"

#include "MPSAllocator.h"
#include "SparseAliasing.h"
#include "Status.h"
#include "TensorImplAccess.h"

#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <array>
#include <atomic>
#include <cstring>

namespace openmps {

namespace {

const c10::Device kDevice(c10::kMPS, 0);
const c10::Device kHost(c10::kCPU);

using StoragePtr = c10::intrusive_ptr<c10::StorageImpl>;

StoragePtr newTwin(c10::StorageImpl* storage, c10::DataPtr&& pointer) {
  return c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(),
      storage->nbytes(),
      std::move(pointer),
      getHostAllocator(),
      /*resizable=*/true);
}

// For memory outside the arena (a foreign pointer under an MPS storage): the alias keeps the
// storage alive and is not cached.
StoragePtr uncachedTwin(c10::StorageImpl* storage, void* address) {
  c10::raw::intrusive_ptr::incref(storage);
  return newTwin(
      storage,
      {address,
       storage,
       [](void* kept) { c10::raw::intrusive_ptr::decref(static_cast<c10::StorageImpl*>(kept)); },
       kHost});
}

c10::DispatchKeySet toCpuKeySet(c10::DispatchKeySet keys) {
  keys = keys - c10::autograd_dispatch_keyset_with_ADInplaceOrView -
      c10::DispatchKeySet(c10::DispatchKey::AutocastMPS) -
      c10::DispatchKeySet(c10::DispatchKey::AutogradFunctionality);
  return keys.remove_backend(c10::BackendComponent::MPSBit) |
      c10::DispatchKeySet(c10::BackendComponent::CPUBit);
}

c10::DispatchKeySet toMpsKeySet(c10::DispatchKeySet keys) {
  const bool autocast = keys.has(c10::DispatchKey::AutocastCPU);
  keys = keys.remove_backend(c10::BackendComponent::CPUBit) |
      c10::DispatchKeySet(c10::BackendComponent::MPSBit);
  if (autocast) {
    keys = keys.remove(c10::DispatchKey::AutocastCPU).add(c10::DispatchKey::AutocastMPS);
  }
  return keys;
}

// A tensor without a storage the VIEW constructor could share (rare: subclasses, functorch).
at::Tensor aliasByMetadata(c10::TensorImpl* source) {
  c10::intrusive_ptr<c10::TensorImpl> alias;
  {
    c10::InferenceMode no_version_counter(true);
    alias = c10::make_intrusive<c10::TensorImpl>(
        c10::DispatchKeySet(c10::DispatchKey::CPU), source->dtype(), kHost);
  }
  TensorImplAccess::copyMetadata(source, alias.get());
  TensorImplAccess::keySet(alias.get()) = toCpuKeySet(source->key_set());
  TensorImplAccess::device(alias.get()) = kHost;
  return at::Tensor(std::move(alias));
}

// Memory that is not a block of its own (a worker thread's allocation, a cached constant, a view
// over foreign memory) is copied into one, so that every MPS storage is a block the runtime knows.
void moveIntoArena(c10::StorageImpl* storage, const c10::DataPtr& pointer) {
  auto block = getMPSAllocator()->allocate(storage->nbytes());
  if (storage->nbytes() != 0) {
    std::memcpy(block.get(), pointer.get(), storage->nbytes());
  }
  storage->set_data_ptr_noswap(std::move(block));
}

void adoptStorage(c10::StorageImpl* storage) {
  if (storage->device_type() == c10::kMPS) {
    return;
  }
  auto& pointer = storage->_mutable_data_ptr_no_checks();
  if (C10_UNLIKELY(pointer.get() != nullptr && pointer.get_deleter() != &deleteBlock)) {
    moveIntoArena(storage, pointer);
  }
  storage->_mutable_data_ptr_no_checks().unsafe_set_device(kDevice);
  storage->set_allocator(getMPSAllocator());
}

// A view of an alias was made from a tensor without autograd keys and version counter.
void makeTrackable(c10::TensorImpl* impl) {
  auto& keys = TensorImplAccess::keySet(impl);
  if (C10_UNLIKELY(!keys.has(c10::DispatchKey::ADInplaceOrView)) &&
      !c10::InferenceMode::is_enabled()) {
    keys = keys | c10::getAutogradRelatedKeySetFromBackend(c10::BackendComponent::MPSBit) |
        c10::getAutocastRelatedKeySetFromBackend(c10::BackendComponent::MPSBit);
    impl->set_version_counter(c10::VariableVersion(0));
  }
}

// The MPS storage whose twin is `twin`, among the arguments of the current redispatch.
c10::Storage originalStorageOf(
    const c10::StorageImpl* twin, const c10::TensorImpl* self, const AliasMap& map) {
  for (const auto& [storage, its_twin] : map.storages) {
    if (its_twin == twin) {
      return storage;
    }
  }
  for (const auto& [original, alias] : map.tensors) {
    if (alias.unsafeGetTensorImpl() != self && alias.has_storage() &&
        alias.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl() == twin) {
      return original.unsafeGetTensorImpl()->unsafe_storage();
    }
  }
  return {};
}

void checkResultDtype(const c10::TensorImpl* impl) {
  const auto& dtype = impl->dtype();
  TORCH_CHECK_TYPE(
      dtype != caffe2::TypeMeta::Make<double>(),
      "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. "
      "Please use float32 instead.");
  TORCH_CHECK_TYPE(
      dtype != caffe2::TypeMeta::Make<c10::complex<double>>(),
      "Trying to convert ComplexDouble to the MPS backend but it does not have support for that "
      "dtype.");
}

at::Tensor adoptInPlace(at::Tensor&& result) {
  auto* impl = result.unsafeGetTensorImpl();
  TensorImplAccess::keySet(impl) = toMpsKeySet(impl->key_set());
  TensorImplAccess::device(impl) = kDevice;
  makeTrackable(impl);
  return std::move(result);
}

// The kernel kept a reference on its result: leave that CPU tensor as it is.
at::Tensor adoptCopy(const c10::TensorImpl* impl) {
  auto copy = c10::make_intrusive<c10::TensorImpl>(
      c10::DispatchKeySet(c10::DispatchKey::MPS), impl->dtype(), kDevice);
  const auto fresh_keys = copy->key_set();
  constexpr c10::DispatchKeySet math_bits(
      {c10::DispatchKey::Conjugate, c10::DispatchKey::Negative});
  TensorImplAccess::copyMetadata(impl, copy.get());
  TensorImplAccess::keySet(copy.get()) = fresh_keys | (impl->key_set() & math_bits);
  TensorImplAccess::device(copy.get()) = kDevice;
  return at::Tensor(std::move(copy));
}

void writeBackStorage(c10::TensorImpl* target, const at::Tensor& alias, const AliasMap& map) {
  auto* source = alias.unsafeGetTensorImpl();
  auto* target_storage = target->unsafe_storage().unsafeGetStorageImpl();
  auto* twin = source->unsafe_storage().unsafeGetStorageImpl();
  auto& twin_pointer = twin->_mutable_data_ptr_no_checks();
  const bool same = target_storage == nullptr ||
      (target_storage->data() == twin_pointer.get() && target_storage->nbytes() == twin->nbytes());
  if (C10_LIKELY(same)) {
    return;
  }
  const bool owns_block =
      twin_pointer.get() == nullptr || twin_pointer.get_deleter() == &deleteBlock;
  if (owns_block) {
    // The kernel resized the alias: the new block now belongs to the MPS storage.
    const at::Tensor keep_alive = alias;
    const auto nbytes = twin->nbytes();
    c10::DataPtr block = std::move(twin_pointer);
    block.unsafe_set_device(kDevice);
    target_storage->set_data_ptr_noswap(std::move(block));
    target_storage->set_nbytes(nbytes);
    return;
  }
  // set_(): the alias now uses the twin of another MPS storage.
  auto storage = originalStorageOf(twin, source, map);
  if (!storage) {
    adoptStorage(twin);
    storage = source->unsafe_storage();
  }
  target->set_storage_keep_dtype(storage);
}

// TensorImpls of this thread's aliases that no call uses.
class SpareImpls {
 public:
  SpareImpls() = default;
  SpareImpls(const SpareImpls&) = delete;
  SpareImpls& operator=(const SpareImpls&) = delete;
  ~SpareImpls() {
    while (count_ != 0) {
      c10::raw::intrusive_ptr::decref(impls_[--count_]);
    }
    is_open_ = false;
  }
  c10::TensorImpl* take() {
    return count_ == 0 ? nullptr : impls_[--count_];
  }
  bool hasPlace() const {
    return is_open_ && count_ < impls_.size();
  }
  void give(c10::TensorImpl* impl) {
    impls_[count_++] = impl;
  }

 private:
  std::array<c10::TensorImpl*, 8> impls_{};
  size_t count_ = 0;
  // Destructors of other thread-local objects may still run ops.
  bool is_open_ = true;
};

thread_local SpareImpls spareImpls;

} // namespace

StoragePtr twinOf(c10::StorageImpl* storage) {
  void* address = storage->_mutable_data_ptr_no_checks().get();
  if (C10_UNLIKELY(address == nullptr)) {
    return newTwin(storage, {nullptr, nullptr, &deleteBlock, kHost});
  }
  void** slot = openmps_block_user_slot(address);
  if (C10_UNLIKELY(slot == nullptr)) {
    return uncachedTwin(storage, address);
  }
  std::atomic_ref<void*> cell(*slot);
  if (auto* twin = static_cast<c10::StorageImpl*>(cell.load(std::memory_order_acquire))) {
    if (C10_UNLIKELY(twin->nbytes() != storage->nbytes())) {
      twin->set_nbytes(storage->nbytes());
    }
    return StoragePtr::unsafe_reclaim_from_nonowning(twin);
  }
  // The twin does not own the block: the block's deleter owns the twin.
  auto twin = newTwin(storage, {address, nullptr, [](void*) {}, kHost});
  auto owned = twin;
  void* expected = nullptr;
  if (cell.compare_exchange_strong(expected, owned.get(), std::memory_order_acq_rel)) {
    owned.release();
    return twin;
  }
  return StoragePtr::unsafe_reclaim_from_nonowning(static_cast<c10::StorageImpl*>(expected));
}

at::Tensor cpuAlias(const at::Tensor& tensor, AliasMap* map) {
  auto* source = tensor.unsafeGetTensorImpl();
  if (C10_UNLIKELY(source->layout() != c10::kStrided)) {
    return sparseCpuAlias(tensor, map);
  }
  if (C10_UNLIKELY(!source->has_storage())) {
    return aliasByMetadata(source);
  }
  // The VIEW constructor plus a key set without autograd keys: no version counter to allocate,
  // and the device comes from the twin.
  auto alias = c10::make_intrusive<c10::TensorImpl>(
      c10::TensorImpl::VIEW,
      c10::Storage(twinOf(source->unsafe_storage().unsafeGetStorageImpl())),
      toCpuKeySet(source->key_set()),
      source->dtype());
  alias->set_sizes_and_strides(source->sizes(), source->strides(), source->storage_offset());
  if (C10_UNLIKELY(source->is_wrapped_number())) {
    alias->set_wrapped_number(true);
  }
  return at::Tensor(std::move(alias));
}

ScopedAlias::ScopedAlias(const at::Tensor& tensor) {
  auto* source = tensor.unsafeGetTensorImpl();
  if (C10_UNLIKELY(!isMps(tensor))) {
    alias_ = tensor;
    return;
  }
  // The flag of a wrapped number cannot be taken back.
  is_reusable_ = source->layout() == c10::kStrided && source->has_storage() && !source->is_wrapped_number();
  auto* impl = is_reusable_ ? spareImpls.take() : nullptr;
  if (C10_UNLIKELY(impl == nullptr)) {
    alias_ = cpuAlias(tensor);
    return;
  }
  alias_ = at::Tensor(c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim(impl));
  TensorImplAccess::storage(impl) =
      c10::Storage(twinOf(source->unsafe_storage().unsafeGetStorageImpl()));
  TensorImplAccess::keySet(impl) = toCpuKeySet(source->key_set());
  TensorImplAccess::dtype(impl) = source->dtype();
  impl->set_sizes_and_strides(source->sizes(), source->strides(), source->storage_offset());
}

ScopedAlias::~ScopedAlias() {
  if (C10_UNLIKELY(
          !is_reusable_ || !spareImpls.hasPlace() || alias_.use_count() != 1 ||
          alias_.weak_use_count() != 1 || !TensorImplAccess::isPlain(alias_.unsafeGetTensorImpl()))) {
    return;
  }
  auto* impl = alias_.unsafeReleaseTensorImpl();
  TensorImplAccess::storage(impl) = c10::Storage();
  spareImpls.give(impl);
}

at::Tensor adopt(at::Tensor&& result, const AliasMap* map) {
  if (!result.defined() || !result.key_set().has_backend(c10::BackendComponent::CPUBit)) {
    return std::move(result);
  }
  if (C10_UNLIKELY(result.layout() != c10::kStrided)) {
    return sparseAdopt(result, map);
  }
  auto* impl = result.unsafeGetTensorImpl();
  checkResultDtype(impl);
  c10::Storage original;
  if (C10_LIKELY(impl->has_storage())) {
    auto* storage = impl->unsafe_storage().unsafeGetStorageImpl();
    if (map != nullptr) {
      original = originalStorageOf(storage, nullptr, *map);
    }
    if (!original) {
      adoptStorage(storage);
    }
  }
  at::Tensor adopted =
      C10_LIKELY(result.use_count() == 1) ? adoptInPlace(std::move(result)) : adoptCopy(impl);
  if (original) {
    TensorImplAccess::storage(adopted.unsafeGetTensorImpl()) = std::move(original);
  }
  return adopted;
}

void writeBack(const at::Tensor& original, const at::Tensor& alias, const AliasMap& map) {
  if (C10_UNLIKELY(original.layout() != c10::kStrided)) {
    sparseWriteBack(original, alias, map);
    return;
  }
  auto* target = original.unsafeGetTensorImpl();
  auto* source = alias.unsafeGetTensorImpl();
  if (C10_LIKELY(source->has_storage())) {
    writeBackStorage(target, alias, map);
  }
  if (C10_UNLIKELY(
          target->sizes() != source->sizes() || target->strides() != source->strides() ||
          target->storage_offset() != source->storage_offset())) {
    target->set_sizes_and_strides(source->sizes(), source->strides(), source->storage_offset());
  }
}

} // namespace openmps
