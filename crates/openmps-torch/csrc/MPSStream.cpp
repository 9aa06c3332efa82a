// Where the runtime counts busy streams.
#include "MPSStream.h"

namespace openmps {

const uint64_t* const busyStreamsPlace = openmps_busy_streams();

} // namespace openmps
