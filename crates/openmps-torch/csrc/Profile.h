// Tells the profiler about what the plug-in executes. While nothing is profiled, an operation costs one
// relaxed load of a word of the runtime.
#pragma once

#include "autogen_openmps_abi.h"

#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <algorithm>
#include <atomic>
#include <optional>

namespace openmps {

// Set when the library is loaded, before any kernel is registered.
extern const uint32_t* const profileFlagsPlace;

inline uint32_t profileFlags() {
  return __atomic_load_n(profileFlagsPlace, __ATOMIC_RELAXED);
}

// The runtime's number of an operator's name, asked for when it is first profiled.
class ProfileName {
 public:
  constexpr explicit ProfileName(const char* text) : text_(text) {}
  uint32_t number();

 private:
  const char* const text_;
  std::atomic<uint32_t> number_{0};
};

// The tensors of one operation in the words of the ABI. What does not fit is counted.
class ProfiledTensors {
 public:
  ProfiledTensors() {} // NOLINT: the words are written before they are read
  void add(const at::Tensor& tensor);
  void add(const c10::IValue& value);
  void add(const std::optional<at::Tensor>& tensor) {
    if (tensor) {
      add(*tensor);
    }
  }
  void add(at::TensorList list) {
    addAll(list);
  }
  void add(const at::ITensorListRef& list) {
    addAll(list);
  }
  template <class T>
  void add(const T&) {}
  const uint64_t* words() const {
    return words_;
  }
  // The number of words; closes the list.
  uint64_t finish();

 private:
  template <class List>
  void addAll(const List& list) {
    for (const at::Tensor& tensor : list) {
      add(tensor);
    }
  }

  static constexpr size_t kCapacity = 128;
  size_t count_ = 0;
  uint64_t left_out_ = 0;
  uint64_t words_[kCapacity];
};

// From its begin() to its end an operation of the calling thread, if that is asked for.
class ProfiledOperation {
 public:
  ProfiledOperation() {} // NOLINT: the rest is written by begin()
  ProfiledOperation(const ProfiledOperation&) = delete;
  ProfiledOperation& operator=(const ProfiledOperation&) = delete;
  ~ProfiledOperation() {
    if (C10_UNLIKELY(running_)) {
      end();
    }
  }
  // An operator with these arguments; those that are no tensors are passed over.
  template <class... A>
  [[gnu::noinline, gnu::cold]] void beginOperator(ProfileName& name, const A&... arguments) {
    (tensors_.add(arguments), ...);
    begin(OPENMPS_PROFILE_GRAPH, name.number());
  }
  void beginOperator(ProfileName& name, const torch::jit::Stack& stack, size_t argument_count);
  void beginFallback(const c10::FunctionSchema& schema, const torch::jit::Stack& stack);
  void beginCopy(const at::Tensor& dst, const at::Tensor& src, bool is_blocking);

 private:
  void begin(uint32_t kind, uint32_t name);
  void end();

  bool running_ = false;
  OpenmpsProfileOperation operation_;
  OpenmpsProfileRunning state_;
  ProfiledTensors tensors_;
};

// A text as a template argument.
template <size_t N>
struct OperatorName {
  char text[N];
  constexpr OperatorName(const char (&name)[N]) { // NOLINT: implicit on purpose
    std::copy_n(name, N, text);
  }
};

// A kernel that is an operation of its own.
template <OperatorName name, auto function>
struct ProfiledKernel;

template <OperatorName name, class R, class... A, R (*function)(A...)>
struct ProfiledKernel<name, function> {
  static R call(A... arguments) {
    static ProfileName profile_name(name.text);
    ProfiledOperation profiled;
    if (C10_UNLIKELY(profileFlags() & OPENMPS_PROFILE_SEES_OPERATION)) {
      profiled.beginOperator(profile_name, arguments...);
    }
    return function(std::forward<A>(arguments)...);
  }
};

} // namespace openmps
