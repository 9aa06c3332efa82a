// Boxed redispatch: runs an operator's CPU kernel on CPU aliases of its MPS arguments.
#pragma once

#include "DeviceCheck.h"

#include <torch/library.h>

#include <string>

namespace openmps {

// A kernel that redispatches `op` to the CPU.
torch::CppFunction redispatchKernel(const CheckedOp& op);

// What that kernel does when its device checks are done, for an unboxed one: the arguments are the whole stack.
void redispatchBoxed(const CheckedOp& op, torch::jit::Stack* stack);

// A kernel that redispatches with the warning of PYTORCH_ENABLE_MPS_FALLBACK=1.
torch::CppFunction warningFallbackKernel();

// Raises PyTorch's NotImplementedError for ops without an MPS kernel.
torch::CppFunction errorFallbackKernel();

// Tells whoever observes what a Mac would lack (openmps doctor). True if somebody does: the program has to go on then.
bool tellObserver(const std::string& operator_name, const char* refusal);

// The commit hash that the error text names (torch.version.git_version).
void setCommitHash(std::string hash);

} // namespace openmps
