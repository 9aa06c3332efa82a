// Tells who listens (captures) of an operator that runs on the CPU: its name, its tensors, how long.
//
// Costs one relaxed load when nobody does.
#pragma once

#include "Status.h"

#include <ATen/core/Tensor.h>

#include <string>
#include <type_traits>
#include <vector>

namespace openmps {

class ObservedOp {
 public:
  // `tensors()` gives the operator's tensors, `name()` its name; called only when someone listens.
  template <class Name, class Tensors>
  ObservedOp(const Name& name, const Tensors& tensors) {
    if (C10_UNLIKELY(openmps_observers() != 0)) {
      if constexpr (std::is_invocable_v<Name>) {
        begin(name(), tensors());
      } else {
        begin(name, tensors());
      }
    }
  }
  ~ObservedOp() {
    if (C10_UNLIKELY(!name_.empty())) {
      end();
    }
  }
  ObservedOp(const ObservedOp&) = delete;
  ObservedOp& operator=(const ObservedOp&) = delete;

 private:
  void begin(const std::string& name, const std::vector<at::Tensor>& tensors);
  void end() noexcept;

  std::string name_;
  std::string tensors_;
  uint64_t started_ns_ = 0;
};

} // namespace openmps
