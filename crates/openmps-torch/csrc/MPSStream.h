// The rule that orders ATen work with queued kernels: a redispatched op runs on the calling
// thread and touches the same memory, so the current stream must have run dry before it starts.
//
// Only the current stream is drained. As on other backends, work of another stream is ordered by
// events (whose waits are commands of this stream) or by synchronization.
#pragma once

#include "Status.h"

namespace openmps {

// The number of streams that may still run something. Set when the library is loaded, before any kernel is registered.
extern const uint64_t* const busyStreamsPlace;

// Waits for the current stream; errors of queued kernels stay deferred.
inline void drainCurrentStream() {
  if (C10_UNLIKELY(__atomic_load_n(busyStreamsPlace, __ATOMIC_ACQUIRE) != 0)) {
    check(openmps_stream_wait_idle(openmps_stream_current()));
  }
}

// A synchronization point: waits for the current stream and raises its deferred error.
inline void synchronizeCurrentStream() {
  check(openmps_stream_synchronize(openmps_stream_current()));
}

} // namespace openmps
