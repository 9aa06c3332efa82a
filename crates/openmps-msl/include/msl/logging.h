// `metal_logging`: os_log. Messages are accepted and discarded. `metal_assert`: assert does nothing, as in Metal's release mode.
#pragma once
#pragma clang system_header
#include "traits.h"

namespace metal {

enum os_log_type { os_log_type_default, os_log_type_debug, os_log_type_info, os_log_type_error, os_log_type_fault };

struct os_log {
  template <class Subsystem, class Category>
  constexpr os_log(Subsystem, Category) {}
  constexpr os_log() {}
  template <class Format, class... A>
  __MSL_INLINE void log(Format, A...) const {}
  template <class Format, class... A>
  __MSL_INLINE void log_with_type(os_log_type, Format, A...) const {}
  template <class Format, class... A>
  __MSL_INLINE void log_debug(Format, A...) const {}
  template <class Format, class... A>
  __MSL_INLINE void log_info(Format, A...) const {}
  template <class Format, class... A>
  __MSL_INLINE void log_error(Format, A...) const {}
  template <class Format, class... A>
  __MSL_INLINE void log_fault(Format, A...) const {}
};
constexpr constant os_log os_log_default;

} // namespace metal

#define assert(condition) ((void)0)
