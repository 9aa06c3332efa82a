// Restores device type MPS in at::native::DispatchStub.
#pragma once

namespace openmps {

// Number of call sites redirected; 0 when torch's libraries have none (the caller decides).
int patchDispatchStub();

} // namespace openmps
