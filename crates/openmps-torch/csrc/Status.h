// Turns a status of the runtime's C ABI into PyTorch's exception classes.
//
// The message and, for accelerator errors, the source position live in thread-local storage of
// the runtime until the next failing call of the same thread.
#pragma once

#include "autogen_openmps_abi.h"

#include <c10/macros/Macros.h>

namespace openmps {

[[noreturn]] void throwStatus(OpenmpsStatus status);

// Warns with the message of a call that succeeded with OPENMPS_WARNING.
void warnStatus();

inline void check(OpenmpsStatus status) {
  if (C10_UNLIKELY(status != OPENMPS_OK)) {
    if (status != OPENMPS_WARNING) {
      throwStatus(status);
    }
    warnStatus();
  }
}

} // namespace openmps
