// The one mapping from ABI status codes to c10 exception classes; layouts shared with Rust are
// checked here at compile time.
#include "Status.h"

#include <c10/util/Exception.h>

#include <cstddef>

static_assert(sizeof(OpenmpsBlockInfo) == 40 && alignof(OpenmpsBlockInfo) == 8);
static_assert(offsetof(OpenmpsBlockInfo, size_bytes) == 8);
static_assert(offsetof(OpenmpsBlockInfo, requested_bytes) == 16);
static_assert(offsetof(OpenmpsBlockInfo, id) == 24);
static_assert(offsetof(OpenmpsBlockInfo, pinned) == 32);
static_assert(offsetof(OpenmpsBlockInfo, retain_count) == 36);
static_assert(sizeof(OpenmpsBlockSlots) == 24 && alignof(OpenmpsBlockSlots) == 8);
static_assert(offsetof(OpenmpsBlockSlots, count) == 8);
static_assert(offsetof(OpenmpsBlockSlots, words) == 16);
static_assert(sizeof(OpenmpsMemoryStat) == 32 && alignof(OpenmpsMemoryStat) == 8);
static_assert(offsetof(OpenmpsMemoryStat, peak) == 8);
static_assert(offsetof(OpenmpsMemoryStat, allocated) == 16);
static_assert(offsetof(OpenmpsMemoryStat, freed) == 24);
static_assert(sizeof(OpenmpsMemoryStats) == 64);
static_assert(offsetof(OpenmpsMemoryStats, reserved) == 32);
static_assert(sizeof(OpenmpsElements) == 24 && offsetof(OpenmpsElements, scalar_type) == 16);
static_assert(sizeof(OpenmpsProfileOperation) == 40 && offsetof(OpenmpsProfileOperation, copy_bytes) == 8);
static_assert(offsetof(OpenmpsProfileOperation, words) == 24);
static_assert(offsetof(OpenmpsProfileOperation, word_count) == 32);
static_assert(sizeof(OpenmpsProfileRunning) == 48 && offsetof(OpenmpsProfileRunning, is_recorded) == 32);
static_assert(sizeof(OpenmpsGeneratorState) == OPENMPS_GENERATOR_STATE_BYTES);

namespace openmps {

void warnStatus() {
  TORCH_WARN(openmps_error_message());
}

void throwStatus(OpenmpsStatus status) {
  const std::string message = openmps_error_message();
  switch (status) {
    case OPENMPS_VALUE_ERROR:
      TORCH_CHECK_VALUE(false, message);
    case OPENMPS_TYPE_ERROR:
      TORCH_CHECK_TYPE(false, message);
    case OPENMPS_NOT_IMPLEMENTED_ERROR:
      TORCH_CHECK_NOT_IMPLEMENTED(false, message);
    case OPENMPS_OUT_OF_MEMORY_ERROR:
      TORCH_CHECK_WITH(OutOfMemoryError, false, message);
    case OPENMPS_ACCELERATOR_ERROR: {
      // SourceLocation keeps the pointers, and the runtime's texts die with the next error.
      static thread_local std::string file;
      static thread_local std::string function;
      file = openmps_error_file();
      function = openmps_error_function();
      throw c10::AcceleratorError(
          {function.c_str(), file.c_str(), openmps_error_line()}, openmps_error_code(), message);
    }
    default:
      TORCH_CHECK(false, message);
  }
}

} // namespace openmps
