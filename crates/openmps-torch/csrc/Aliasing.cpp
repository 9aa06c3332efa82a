// CPU aliases of dense MPS tensors and the way back. Sparse layouts: SparseAliasing.cpp.
#include "Aliasing.h"

#include "AliasImpl.h"
#include "MPSAllocator.h"
#include "SparseAliasing.h"
#include "Status.h"
#include "TensorImplAccess.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <atomic>
#include <cstring>
#include <typeinfo>
#include <utility>

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

// The twin in a block's word, brought up to date with its storage; null if there is none.
c10::StorageImpl* keptTwin(std::atomic_ref<uint64_t> word, const c10::StorageImpl* storage) {
  const uint64_t kept = word.load(std::memory_order_acquire);
  if (C10_UNLIKELY(kept == OPENMPS_BLOCK_SLOT_EMPTY)) {
    return nullptr;
  }
  auto* twin = reinterpret_cast<c10::StorageImpl*>(kept);
  if (C10_UNLIKELY(twin->nbytes() != storage->nbytes())) {
    twin->set_nbytes(storage->nbytes());
  }
  return twin;
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

// Clears what a thread keeps when it ends. Destructors of other thread-local objects may still run ops afterwards.
struct ImplKeeper {
  ~ImplKeeper() {
    threadState.keeps_impls = false;
    if (threadState.number != nullptr) {
      c10::raw::intrusive_ptr::decref(std::exchange(threadState.number, nullptr));
    }
    while (threadState.impl_count != 0) {
      c10::raw::intrusive_ptr::decref(threadState.impls[--threadState.impl_count]);
    }
  }
};

// Lets the thread keep TensorImpls from now on, unless it is about to end.
void startKeeping(ThreadState& thread) {
  static thread_local bool has_keeper = false;
  if (!has_keeper) {
    static thread_local ImplKeeper keeper;
    has_keeper = true;
    thread.keeps_impls = true;
  }
}

// What `borrowAlias` gives for tensors that are not plain, that have no twin yet, or while the thread keeps no TensorImpl.
C10_NOINLINE at::Tensor borrowNewAlias(const at::Tensor& tensor, ThreadState& thread) {
  const auto* source = tensor.unsafeGetTensorImpl();
  if (!isPlainDense(source->key_set(), c10::BackendComponent::MPSBit) || TensorImplAccess::hasExtraMeta(source)) {
    return cpuAlias(tensor);
  }
  startKeeping(thread);
  auto alias = c10::make_intrusive<AliasImpl>(
      c10::Storage(twinOf(source->unsafe_storage().unsafeGetStorageImpl())), toCpuKeySet(source->key_set()), source->dtype());
  alias->copyShape(*source);
  return at::Tensor(std::move(alias));
}

// A float tensor without dimensions that counts as a number. Its memory is none of the device's, whose counters it would raise
// for as long as the thread lives.
C10_NOINLINE at::Tensor newNumber() {
  auto* host = c10::GetDefaultCPUAllocator();
  auto number = c10::make_intrusive<c10::TensorImpl>(
      c10::TensorImpl::VIEW,
      c10::Storage(
          c10::Storage::use_byte_size_t(), sizeof(float), host->allocate(sizeof(float)), host, /*resizable=*/false),
      c10::DispatchKeySet(c10::DispatchKey::CPU),
      caffe2::TypeMeta::Make<float>());
  number->set_sizes_contiguous({});
  number->set_wrapped_number(true);
  return at::Tensor(std::move(number));
}

} // namespace

StoragePtr twinOf(c10::StorageImpl* storage) {
  void* address = storage->_mutable_data_ptr_no_checks().get();
  if (C10_UNLIKELY(address == nullptr)) {
    return newTwin(storage, {nullptr, nullptr, &deleteBlock, kHost});
  }
  uint64_t* slot = blockSlot(address);
  if (C10_UNLIKELY(slot == nullptr)) {
    return uncachedTwin(storage, address);
  }
  const std::atomic_ref word(*slot);
  if (auto* twin = keptTwin(word, storage); C10_LIKELY(twin != nullptr)) {
    return StoragePtr::unsafe_reclaim_from_nonowning(twin);
  }
  // The twin does not own the block: the block's deleter owns the twin.
  auto twin = newTwin(storage, {address, nullptr, [](void*) {}, kHost});
  auto owned = twin;
  auto spare = twin;
  uint64_t kept = OPENMPS_BLOCK_SLOT_EMPTY;
  if (word.compare_exchange_strong(
          kept, reinterpret_cast<uint64_t>(owned.get()), std::memory_order_acq_rel)) {
    owned.release();
    spare.release();
    return twin;
  }
  return StoragePtr::unsafe_reclaim_from_nonowning(reinterpret_cast<c10::StorageImpl*>(kept));
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

at::Tensor borrowAlias(const at::Tensor& tensor, ThreadState& thread) {
  const auto* source = tensor.unsafeGetTensorImpl();
  const auto keys = source->key_set();
  if (C10_UNLIKELY(!isPlainDense(keys, c10::BackendComponent::MPSBit))) {
    return isMps(tensor) ? borrowNewAlias(tensor, thread) : tensor;
  }
  auto* storage = source->unsafe_storage().unsafeGetStorageImpl();
  auto* slot = C10_LIKELY(storage != nullptr) ? blockSlot(storage->_mutable_data_ptr_no_checks().get()) : nullptr;
  auto* twin = C10_LIKELY(slot != nullptr) ? keptTwin(std::atomic_ref(*slot), storage) : nullptr;
  if (C10_UNLIKELY(twin == nullptr || thread.impl_count == 0 || TensorImplAccess::hasExtraMeta(source))) {
    return borrowNewAlias(tensor, thread);
  }
  auto* impl = thread.impls[--thread.impl_count];
  impl->lend(*source, toCpuKeySet(keys), twin);
  return at::Tensor(c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim(impl));
}

void returnAlias(at::Tensor& alias, ThreadState& thread) {
  auto* impl = alias.unsafeGetTensorImpl();
  if (C10_UNLIKELY(typeid(*impl) != typeid(AliasImpl))) {
    return;
  }
  auto* kept = static_cast<AliasImpl*>(impl);
  const bool is_reusable = kept->takeBack(alias.use_count() == 1 && alias.weak_use_count() == 1);
  if (C10_LIKELY(is_reusable && thread.keeps_impls && thread.impl_count != thread.impls.size())) {
    alias.unsafeReleaseTensorImpl();
    thread.impls[thread.impl_count++] = kept;
  }
}

bool isNumberForFloat(const at::Tensor& self, const at::Tensor& other) {
  const auto* number = other.unsafeGetTensorImpl();
  return number->is_wrapped_number() && self.scalar_type() == at::kFloat &&
      (number->dtype() == caffe2::TypeMeta::Make<double>() || number->dtype() == caffe2::TypeMeta::Make<int64_t>());
}

at::Tensor borrowNumber(const at::Tensor& number, ThreadState& thread) {
  startKeeping(thread);
  auto* kept = thread.number;
  at::Tensor result;
  if (C10_LIKELY(kept != nullptr && c10::raw::intrusive_ptr::use_count(kept) == 1)) {
    result = at::Tensor(c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::unsafe_reclaim_from_nonowning(kept));
  } else {
    result = newNumber();
    if (kept == nullptr && thread.keeps_impls) {
      thread.number = at::Tensor(result).unsafeReleaseTensorImpl();
    }
  }
  const auto* source = number.unsafeGetTensorImpl();
  const void* bytes = source->data();
  *static_cast<float*>(result.unsafeGetTensorImpl()->mutable_data()) = source->dtype() == caffe2::TypeMeta::Make<double>()
      ? static_cast<float>(*static_cast<const double*>(bytes))
      : static_cast<float>(*static_cast<const int64_t*>(bytes));
  return result;
}

at::Tensor adopt(at::Tensor&& result, const AliasMap* map) {
  auto* impl = result.unsafeGetTensorImpl();
  const bool is_plain = isPlainDense(impl->key_set(), c10::BackendComponent::CPUBit);
  if (C10_UNLIKELY(!is_plain)) {
    if (!result.defined() || !result.key_set().has_backend(c10::BackendComponent::CPUBit)) {
      return std::move(result);
    }
    if (result.layout() != c10::kStrided) {
      return sparseAdopt(result, map);
    }
  }
  checkResultDtype(impl);
  c10::Storage original;
  if (auto* storage = storageOf(impl, is_plain); C10_LIKELY(storage != nullptr)) {
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
