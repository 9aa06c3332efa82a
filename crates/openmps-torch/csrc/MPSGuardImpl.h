// The device guard of device type MPS: one device, streams and events of the runtime.
#pragma once

namespace openmps {

void installGuard();

} // namespace openmps
