// Gives a live hooks object of another backend a private vtable whose isBuilt() answers false.
#pragma once

#include <ATen/detail/AcceleratorHooksInterface.h>

namespace openmps {

// at::getAccelerator() asks isBuilt() of every backend and refuses two "yes". All other hooks of
// `hooks` keep working. `vtable_symbol` is the mangled name of the class's vtable in libtorch_cpu.
// Returns false when the object could not be patched; it is then unchanged.
bool reportNotBuilt(const at::AcceleratorHooksInterface& hooks, const char* vtable_symbol);

} // namespace openmps
