// Unboxed kernels: alias the arguments, call the CPU kernel behind at::cpu::<op> directly (no dispatcher, no IValues), adopt
// the results. What is not plain goes the boxed way after all: a dtype that the CPU's kernel refuses, a result that is no
// block of its own.
//
// Saves about 0.3 us a call against the boxed redispatch. gen_ops.py chooses the ops: of simple arguments, with fresh results.
#pragma once

#include "Aliasing.h"
#include "DeviceCheck.h"
#include "Fallback.h"
#include "MPSAllocator.h"
#include "MPSStream.h"
#include "Profile.h"
#include "TensorImplAccess.h"

#include <ATen/core/IListRef.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/boxing/impl/boxing.h>
#include <torch/library.h>

#include <algorithm>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace openmps {

using FastOp = CheckedOp;

// What every call of a CPU kernel for MPS needs around it.
class CpuKernelScope {
 public:
  ThreadState& thread() const {
    return thread_;
  }

 private:
  ThreadState& thread_ = threadState;
  at::AutoDispatchBelowADInplaceOrView below_autograd_;
  ArenaAllocationScope arena_{thread_};
};

// How an argument of type T is checked and replaced.
template <class T>
struct FastArgument {
  static bool onMps(const std::remove_reference_t<T>&) {
    return true;
  }
  static std::vector<at::Tensor> tensors(const std::remove_reference_t<T>&) {
    return {};
  }
  static T alias(T value, ThreadState&) {
    return static_cast<T>(value);
  }
};

template <>
struct FastArgument<const at::Tensor&> {
  static bool onMps(const at::Tensor& value) {
    return isMps(value) || !value.defined();
  }
  static std::vector<at::Tensor> tensors(const at::Tensor& value) {
    return {value};
  }
  static ScopedAlias alias(const at::Tensor& value, ThreadState& thread) {
    return ScopedAlias(value, thread);
  }
};

// out arguments
template <>
struct FastArgument<at::Tensor&> : FastArgument<const at::Tensor&> {};

template <>
struct FastArgument<const std::optional<at::Tensor>&> {
  static bool onMps(const std::optional<at::Tensor>& value) {
    return !value || FastArgument<const at::Tensor&>::onMps(*value);
  }
  static std::vector<at::Tensor> tensors(const std::optional<at::Tensor>& value) {
    return value ? std::vector<at::Tensor>{*value} : std::vector<at::Tensor>();
  }
  static ScopedOptionalAlias alias(const std::optional<at::Tensor>& value, ThreadState& thread) {
    return ScopedOptionalAlias(value, thread);
  }
};

template <class List>
bool allOnMps(const List& list) {
  return std::all_of(list.begin(), list.end(), FastArgument<const at::Tensor&>::onMps);
}

template <>
struct FastArgument<at::TensorList> {
  static bool onMps(at::TensorList value) {
    return allOnMps(value);
  }
  static std::vector<at::Tensor> tensors(at::TensorList value) {
    return value.vec();
  }
  static ScopedAliasList alias(at::TensorList value, ThreadState& thread) {
    return ScopedAliasList(value, thread);
  }
};

template <>
struct FastArgument<const at::ITensorListRef&> {
  static bool onMps(const at::ITensorListRef& value) {
    return allOnMps(value);
  }
  static std::vector<at::Tensor> tensors(const at::ITensorListRef& value) {
    return {value.begin(), value.end()};
  }
  static ScopedAliasList alias(const at::ITensorListRef& value, ThreadState& thread) {
    return ScopedAliasList(value, thread);
  }
};

template <>
struct FastArgument<const c10::List<std::optional<at::Tensor>>&> {
  using List = c10::List<std::optional<at::Tensor>>;
  // Indices may be on the CPU.
  static bool onMps(const List&) {
    return true;
  }
  static std::vector<at::Tensor> tensors(const List&) {
    return {};
  }
  static List alias(const List& value, ThreadState&) {
    List aliases;
    aliases.reserve(value.size());
    for (const std::optional<at::Tensor> tensor : value) {
      if (tensor && (tensor->scalar_type() == at::kBool || tensor->scalar_type() == at::kByte)) {
        synchronizeCurrentStream(); // The real backend counts the mask's elements, which waits.
      }
      aliases.push_back(tensor && isMps(*tensor) ? cpuAlias(*tensor) : tensor);
    }
    return aliases;
  }
};

// Ops whose kernels convert both operands to the common dtype before anything else.
constexpr bool computesInCommonDtype(std::string_view op) {
  for (const std::string_view name :
       {"add.Tensor", "add_.Tensor", "sub.Tensor", "sub_.Tensor", "mul.Tensor", "mul_.Tensor", "div.Tensor", "div_.Tensor"}) {
    if (op == name) {
      return true;
    }
  }
  return false;
}

// What argument `A` of `op` becomes. `self` is the op's first argument.
template <const FastOp& op, class A, class Self>
decltype(auto) aliasFor(const Self& self, std::remove_reference_t<A>& value, ThreadState& thread) {
  if constexpr (std::is_same_v<std::decay_t<A>, at::Tensor> && computesInCommonDtype(op.name)) {
    return ScopedOperand(self, value, thread);
  } else {
    return FastArgument<A>::alias(value, thread);
  }
}

template <class First, class... Rest>
const First& firstOf(const First& first, const Rest&...) {
  return first;
}

// Whether a result owns its memory. A kernel that returned an argument or a view of one has to be called the boxed way, which
// knows whose memory that is.
inline bool isFresh(const at::Tensor& result) {
  const auto* impl = result.unsafeGetTensorImpl();
  auto* storage = storageOf(impl, isPlainDense(impl->key_set(), c10::BackendComponent::CPUBit));
  if (C10_UNLIKELY(storage == nullptr)) {
    return true;
  }
  const auto& pointer = storage->_mutable_data_ptr_no_checks();
  return pointer.get() == nullptr || pointer.get_deleter() == &deleteBlock;
}

template <class... T>
bool isFresh(const std::tuple<T...>& results) {
  return std::apply([](const auto&... result) { return (isFresh(result) && ...); }, results);
}

inline at::Tensor adoptResult(at::Tensor&& result) {
  return adopt(std::move(result));
}

template <class... T>
std::tuple<T...> adoptResult(std::tuple<T...>&& results) {
  return std::apply(
      [](auto&&... result) {
        return std::tuple<T...>(adoptResult(std::move(result))...);
      },
      std::move(results));
}

// The same call the boxed way. One instance for all ops of a signature.
template <class... A>
[[gnu::cold, gnu::noinline]] torch::jit::Stack callBoxed(const CheckedOp& op, A... arguments) {
  auto stack = c10::impl::boxArgs<A...>(std::forward<A>(arguments)...);
  redispatchBoxed(op, &stack);
  return stack;
}

// Whether an argument needs no closer look. Numbers arrive as CPU tensors without dimensions, often enough to be asked for here.
template <DeviceCheck check, class T>
bool passes(const std::remove_reference_t<T>& value) {
  if constexpr (
      check == DeviceCheck::AllowCpuScalars && std::is_same_v<std::decay_t<T>, at::Tensor>) {
    return C10_LIKELY(FastArgument<T>::onMps(value)) || value.dim() == 0;
  } else {
    return FastArgument<T>::onMps(value);
  }
}

// Whether an argument is the tensor that an op changes. Kernels ask for that by identity, so both need one alias.
template <class T>
bool isSame(const at::Tensor& self, const std::remove_reference_t<T>& value) {
  if constexpr (std::is_same_v<std::decay_t<T>, at::Tensor>) {
    return value.is_same(self);
  } else {
    return false;
  }
}

// Checks in the schema's argument order; the common case is one comparison per tensor. Then the kernel's
// turn comes, which is told to the profiler.
template <const FastOp& op, class... A>
struct FastCheck {
  static void run(ProfiledOperation& profiled, const std::remove_reference_t<A>&... arguments) {
    if constexpr (op.check != DeviceCheck::None) {
      if (C10_UNLIKELY(!(passes<op.check, A>(arguments) && ...))) {
        checkDevices(op, {FastArgument<A>::tensors(arguments)...});
      }
    }
    if constexpr (op.refusals.count > 0) {
      if (C10_UNLIKELY(mayRefuse(op.refusals, std::array{refusalTensor(arguments)...}))) {
        checkRefusals(op.name, op.refusals, std::array{refusalArgument(arguments)...});
      }
    }
    if constexpr (isSynchronizing(op.name)) {
      synchronizeCurrentStream();
    } else {
      drainCurrentStream();
    }
    if (C10_UNLIKELY(profileFlags() & OPENMPS_PROFILE_SEES_OPERATION)) {
      static ProfileName name(op.name);
      profiled.beginOperator(name, arguments...);
    }
  }
};

template <const FastOp& op, class Type, Type function>
struct FunctionalKernel;

template <const FastOp& op, class R, class... A, R (*function)(A...)>
struct FunctionalKernel<op, R (*)(A...), function> {
  static R call(A... arguments) {
    ProfiledOperation profiled;
    FastCheck<op, A...>::run(profiled, arguments...);
    try {
      const CpuKernelScope scope;
      R results = function(aliasFor<op, A>(firstOf(arguments...), arguments, scope.thread())...);
      if (C10_LIKELY(isFresh(results))) {
        return adoptResult(std::move(results));
      }
    } catch (const c10::NotImplementedError&) {
      // The boxed way raises it again, or computes in a wide dtype.
    }
    auto results = callBoxed<A...>(op, std::forward<A>(arguments)...);
    return c10::impl::PopResult<R>::call(results);
  }
};

// In-place kernels change bytes only, never sizes: nothing has to be written back.
template <const FastOp& op, class Type, Type function>
struct InplaceKernel;

template <const FastOp& op, class... A, at::Tensor& (*function)(at::Tensor&, A...)>
struct InplaceKernel<op, at::Tensor& (*)(at::Tensor&, A...), function> {
  static at::Tensor& call(at::Tensor& self, A... arguments) {
    ProfiledOperation profiled;
    FastCheck<op, const at::Tensor&, A...>::run(profiled, self, arguments...);
    try {
      if (C10_LIKELY(!(isSame<A>(self, arguments) || ...))) {
        const CpuKernelScope scope;
        ScopedAlias self_alias(self, scope.thread());
        function(self_alias.get(), aliasFor<op, A>(self, arguments, scope.thread())...);
        return self;
      }
    } catch (const c10::NotImplementedError&) {
      // As above.
    }
    callBoxed<at::Tensor&, A...>(op, self, std::forward<A>(arguments)...);
    return self;
  }
};

// Fused optimizers: everything that changes is in the lists.
template <const FastOp& op, class... A, void (*function)(A...)>
struct InplaceKernel<op, void (*)(A...), function> {
  static void call(A... arguments) {
    ProfiledOperation profiled;
    FastCheck<op, A...>::run(profiled, arguments...);
    const CpuKernelScope scope;
    function(FastArgument<A>::alias(arguments, scope.thread())...);
  }
};

// out= kernels may resize their last argument.
template <const FastOp& op, class Type, Type function>
struct OutKernel;

template <const FastOp& op, class... A, at::Tensor& (*function)(A...)>
struct OutKernel<op, at::Tensor& (*)(A...), function> {
  static at::Tensor& call(A... arguments) {
    ProfiledOperation profiled;
    FastCheck<op, A...>::run(profiled, arguments...);
    const CpuKernelScope scope;
    auto& out = std::get<sizeof...(A) - 1>(std::tie(arguments...));
    AliasMap map;
    at::Tensor& result = map.tensors.emplace_back(out, cpuAlias(out)).second;
    callWithOut(
        result,
        std::make_index_sequence<sizeof...(A) - 1>(),
        std::tie(arguments...),
        scope.thread());
    writeBack(out, result, map);
    return const_cast<at::Tensor&>(out);
  }

 private:
  template <size_t... I>
  static void callWithOut(
      at::Tensor& out,
      std::index_sequence<I...>,
      const std::tuple<std::remove_reference_t<A>&...>& arguments,
      ThreadState& thread) {
    using Types = std::tuple<A...>;
    function(
        FastArgument<std::tuple_element_t<I, Types>>::alias(std::get<I>(arguments), thread)...,
        out);
  }
};

} // namespace openmps
