// Boxed redispatch and the two backend fallbacks.
//
// One call: wait for queued kernels, replace every MPS argument on the stack by its CPU alias, run
// the CPU kernel with arena allocations, then map results and changed arguments back. One functor
// object per op caches which arguments need work.
#include "Fallback.h"

#include "Activation.h"
#include "Aliasing.h"
#include "MPSAllocator.h"
#include "MPSStream.h"
#include "Profile.h"
#include "Widening.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <atomic>
#include <memory>
#include <vector>

namespace openmps {

namespace {

using torch::jit::Stack;

std::string commitHash = "Unknown"; // NOLINT: written once, at activation

std::atomic<openmps_torch_fallback_observer> fallbackObserver{nullptr};

// The arguments of one op that can hold something of device MPS.
struct CallPlan {
  std::vector<uint32_t> arguments;
  uint32_t argument_count;
  uint32_t return_count;
};

bool mayHoldMps(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::TensorType:
    case c10::TypeKind::StorageType:
    case c10::TypeKind::DeviceObjType:
    case c10::TypeKind::AnyType:
      return true;
    case c10::TypeKind::OptionalType:
      return mayHoldMps(*type.castRaw<c10::OptionalType>()->getElementType());
    case c10::TypeKind::ListType:
      return mayHoldMps(*type.castRaw<c10::ListType>()->getElementType());
    default:
      return false;
  }
}

std::unique_ptr<CallPlan> makePlan(const c10::FunctionSchema& schema) {
  auto plan = std::make_unique<CallPlan>();
  plan->argument_count = static_cast<uint32_t>(schema.arguments().size());
  plan->return_count = static_cast<uint32_t>(schema.returns().size());
  for (uint32_t index = 0; index < plan->argument_count; ++index) {
    if (mayHoldMps(*schema.arguments()[index].type())) {
      plan->arguments.push_back(index);
    }
  }
  return plan;
}

// The state of one redispatched call.
class Call {
 public:
  void replaceArgument(c10::IValue& value);
  void restoreResult(c10::IValue& value);
  // In-place and out arguments that the op does not return (foreach, fused, resizing ops).
  void restoreArguments();
  bool hasNarrowArgument() const {
    return has_narrow_argument_;
  }

 private:
  at::Tensor alias(const at::Tensor& tensor);
  at::Tensor restore(at::Tensor&& tensor);
  void restoreOriginal(size_t index);

  AliasMap map_;
  c10::SmallVector<bool, 8> restored_;
  c10::SmallVector<at::Tensor, 4> host_tensors_;
  bool cpu_device_argument_ = false;
  bool has_narrow_argument_ = false;
};

at::Tensor Call::alias(const at::Tensor& tensor) {
  if (!tensor.defined()) {
    return tensor;
  }
  has_narrow_argument_ |= isNarrow(tensor.scalar_type());
  if (!isMps(tensor)) {
    host_tensors_.push_back(tensor);
    return tensor;
  }
  for (const auto& [original, its_alias] : map_.tensors) {
    if (original.is_same(tensor)) {
      return its_alias;
    }
  }
  auto alias = cpuAlias(tensor, &map_);
  map_.tensors.emplace_back(tensor, alias);
  return alias;
}

void Call::replaceArgument(c10::IValue& value) {
  if (C10_LIKELY(value.isTensor())) {
    value = alias(value.toTensor());
  } else if (value.isTensorList()) {
    c10::List<at::Tensor> aliases;
    const auto tensors = value.toTensorList();
    aliases.reserve(tensors.size());
    for (const at::Tensor& tensor : tensors) {
      aliases.push_back(alias(tensor));
    }
    value = std::move(aliases);
  } else if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> aliases;
    for (std::optional<at::Tensor> tensor : value.toOptionalTensorList()) {
      aliases.push_back(tensor ? std::optional(alias(*tensor)) : std::nullopt);
    }
    value = std::move(aliases);
  } else if (value.isStorage()) {
    auto storage = value.toStorage();
    if (storage.device_type() == c10::kMPS) {
      auto twin = twinOf(storage.unsafeGetStorageImpl());
      map_.storages.emplace_back(storage, twin.get());
      value = c10::Storage(std::move(twin));
    }
  } else if (value.isDevice()) {
    if (value.toDevice().type() == c10::kMPS) {
      value = c10::Device(c10::kCPU);
    } else {
      cpu_device_argument_ = true;
    }
  } else if (value.isList()) { // Tensor[][] of collectives
    const auto list = value.toList();
    c10::impl::GenericList aliases(list.elementType());
    aliases.reserve(list.size());
    for (size_t index = 0; index < list.size(); ++index) {
      c10::IValue element = list.get(index);
      replaceArgument(element);
      aliases.push_back(std::move(element));
    }
    value = std::move(aliases);
  }
}

void Call::restoreOriginal(size_t index) {
  if (restored_.size() < map_.tensors.size()) {
    restored_.resize(map_.tensors.size(), false);
  }
  if (!restored_[index]) {
    restored_[index] = true;
    writeBack(map_.tensors[index].first, map_.tensors[index].second, map_);
  }
}

at::Tensor Call::restore(at::Tensor&& tensor) {
  if (!tensor.defined()) {
    return std::move(tensor);
  }
  for (size_t index = 0; index < map_.tensors.size(); ++index) {
    if (map_.tensors[index].second.is_same(tensor)) {
      restoreOriginal(index);
      return map_.tensors[index].first;
    }
  }
  for (const auto& host : host_tensors_) {
    if (host.is_same(tensor)) {
      return std::move(tensor);
    }
  }
  if (cpu_device_argument_) {
    return std::move(tensor);
  }
  return adopt(std::move(tensor), &map_);
}

void Call::restoreResult(c10::IValue& value) {
  if (C10_LIKELY(value.isTensor())) {
    value = restore(std::move(value).toTensor());
  } else if (value.isTensorList()) {
    auto tensors = value.toTensorVector();
    value = c10::IValue(); // drops the list's references, so that results can be adopted in place
    for (auto& tensor : tensors) {
      tensor = restore(std::move(tensor));
    }
    value = c10::List<at::Tensor>(tensors);
  } else if (value.isList() && !value.isIntList() && !value.isDoubleList() && !value.isBoolList()) {
    const auto list = value.toList();
    c10::impl::GenericList restored(list.elementType());
    for (size_t index = 0; index < list.size(); ++index) {
      c10::IValue element = list.get(index);
      restoreResult(element);
      restored.push_back(std::move(element));
    }
    value = std::move(restored);
  }
}

void Call::restoreArguments() {
  for (size_t index = 0; index < map_.tensors.size(); ++index) {
    restoreOriginal(index);
  }
}

c10::DispatchKeySet cpuKeySet(c10::DispatchKeySet keys) {
  if (C10_UNLIKELY(keys.has(c10::DispatchKey::SparseMPS))) {
    return c10::DispatchKeySet(c10::DispatchKey::SparseCPU);
  }
  if (C10_UNLIKELY(keys.has(c10::DispatchKey::SparseCsrMPS))) {
    return c10::DispatchKeySet(c10::DispatchKey::SparseCsrCPU);
  }
  return c10::DispatchKeySet(c10::DispatchKey::CPU);
}

// The current stream has run dry.
void redispatch(
    const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack, const CallPlan& plan) {
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  Call call;
  const size_t first_argument = stack->size() - plan.argument_count;
  for (const auto index : plan.arguments) {
    auto& value = (*stack)[first_argument + index];
    if (!value.isNone()) {
      call.replaceArgument(value);
    }
  }
  {
    ArenaAllocationScope arena;
    if (C10_LIKELY(!call.hasNarrowArgument())) {
      op.redispatchBoxed(cpuKeySet(keys), stack);
    } else {
      redispatchWidening(op, cpuKeySet(keys), stack);
    }
  }
  const size_t first_result = stack->size() - plan.return_count;
  for (size_t index = 0; index < plan.return_count; ++index) {
    call.restoreResult((*stack)[first_result + index]);
  }
  call.restoreArguments();
}

// Holds what is known about one op; made at registration, filled at the first call.
class RedispatchFunctor final : public c10::OperatorKernel {
 public:
  explicit RedispatchFunctor(const CheckedOp& op)
      : op_(op), synchronizes_(isSynchronizing(op.name)), profile_name_(op.name) {}
  ~RedispatchFunctor() override {
    delete plan_.load(std::memory_order_acquire);
  }
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
    if (op_.check != DeviceCheck::None) {
      checkDevices(op_, op, *stack);
    }
    const auto& its_plan = plan(op);
    if (C10_UNLIKELY(op_.refusals.count > 0)) {
      checkRefusals(op_.name, op_.refusals, torch::jit::last(*stack, its_plan.argument_count));
    }
    if (C10_UNLIKELY(synchronizes_)) {
      synchronizeCurrentStream();
    } else {
      drainCurrentStream();
    }
    ProfiledOperation profiled;
    if (C10_UNLIKELY(profileFlags() & OPENMPS_PROFILE_SEES_OPERATION)) {
      profiled.beginOperator(profile_name_, *stack, its_plan.argument_count);
    }
    redispatch(op, keys, stack, its_plan);
  }

 private:
  const CallPlan& plan(const c10::OperatorHandle& op) {
    const CallPlan* known = plan_.load(std::memory_order_acquire);
    if (C10_LIKELY(known != nullptr)) {
      return *known;
    }
    auto made = makePlan(op.schema());
    if (plan_.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel)) {
      return *made.release();
    }
    return *known;
  }

  const CheckedOp op_;
  const bool synchronizes_;
  ProfileName profile_name_;
  std::atomic<const CallPlan*> plan_{nullptr};
};

// Whether somebody watches which ops fall back; if so, tells about this one.
bool isObserved(const c10::OperatorHandle& op) {
  return tellObserver(c10::toString(op.schema().operator_name()), nullptr);
}

void warningFallback(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  isObserved(op);
  TORCH_WARN_ONCE(
      "The operator '",
      op.schema().operator_name(),
      "' is not currently supported on the MPS backend and will fall back to run on the CPU.",
      " This may have performance implications.");
  const auto plan = makePlan(op.schema());
  drainCurrentStream();
  ProfiledOperation profiled;
  if (C10_UNLIKELY(profileFlags() & OPENMPS_PROFILE_SEES_FALLBACK)) {
    profiled.beginFallback(op.schema(), *stack);
  }
  redispatch(op, keys, stack, *plan);
}

void errorFallback(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  if (isObserved(op)) {
    // The observer wants to know of every such op, so the program has to go on.
    const auto plan = makePlan(op.schema());
    drainCurrentStream();
    redispatch(op, keys, stack, *plan);
    return;
  }
  TORCH_CHECK_NOT_IMPLEMENTED(
      false,
      "The operator '",
      op.schema().operator_name(),
      "' is not currently implemented for the MPS device. If you want this op to be considered for "
      "addition please comment on https://github.com/pytorch/pytorch/issues/141287 and mention "
      "use-case, that resulted in missing op as well as commit hash ",
      commitHash,
      ". As a temporary fix, you can set the environment variable `PYTORCH_ENABLE_MPS_FALLBACK=1` "
      "to use the CPU as a fallback for this op. WARNING: this will be slower than running natively "
      "on MPS.");
}

} // namespace

torch::CppFunction redispatchKernel(const CheckedOp& op) {
  return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<RedispatchFunctor>(op));
}

// What brings a call here from an unboxed kernel may be a type that Metal has not, which the real backend has a text for.
static void checkDtypes(const Stack& stack) {
  for (const auto& value : stack) {
    const bool is_refused = value.isTensor() && value.toTensor().defined() && isMps(value.toTensor()) &&
        isUnknownToMetal(value.toTensor().scalar_type());
    TORCH_CHECK_TYPE(
        !is_refused,
        "Trying to convert ",
        value.toTensor().scalar_type(),
        " to the MPS backend but it does not have support for that dtype.");
  }
}

void redispatchBoxed(const CheckedOp& op, Stack* stack) {
  checkDtypes(*stack);
  const auto handle = handleOf(op);
  redispatch(handle, c10::DispatchKeySet(c10::DispatchKey::MPS), stack, *makePlan(handle.schema()));
}

torch::CppFunction warningFallbackKernel() {
  return torch::CppFunction::makeFromBoxedFunction<&warningFallback>();
}

torch::CppFunction errorFallbackKernel() {
  return torch::CppFunction::makeFromBoxedFunction<&errorFallback>();
}

bool tellObserver(const std::string& operator_name, const char* refusal) {
  const auto observer = fallbackObserver.load(std::memory_order_acquire);
  if (observer == nullptr) {
    return false;
  }
  observer(operator_name.c_str(), refusal);
  return true;
}

void setCommitHash(std::string hash) {
  commitHash = std::move(hash);
}

} // namespace openmps

void openmps_torch_observe_fallbacks(openmps_torch_fallback_observer observer) {
  openmps::fallbackObserver.store(observer, std::memory_order_release);
}
