// The plug-in's C interface for the Python side (ctypes or PyO3); it needs no Python itself.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

#define OPENMPS_TORCH_EXPORT __attribute__((visibility("default")))

// Makes device "mps" live in this process: allocator, guard, hooks, kernels, accelerator choice.
// `torch_git_version` (torch.version.git_version) appears in the text of unimplemented ops.
// Returns 0, or 1 with the reason in openmps_torch_error(). The first call decides.
OPENMPS_TORCH_EXPORT int openmps_torch_activate(const char* torch_git_version);

// Why openmps_torch_activate failed, or what it had to leave out; "" when nothing.
OPENMPS_TORCH_EXPORT const char* openmps_torch_error(void);

// To be called at exit, without the GIL: lets autograd's worker thread for MPS drop what it holds of
// the last backward pass, since that needs the GIL, which a finalizing interpreter never gives.
OPENMPS_TORCH_EXPORT void openmps_torch_drain_autograd(void);

// Called with the name of an op ("aten::mode.values") before it falls back to the CPU, on the thread that runs it.
// `refusal` is null for an op that the real backend lacks, else the text with which it refuses the arguments.
typedef void (*openmps_torch_fallback_observer)(const char* operator_name, const char* refusal);

// Sets what is told about ops that the real backend lacks; null for nobody. While it is set they run on the CPU, whatever
// PYTORCH_ENABLE_MPS_FALLBACK says.
OPENMPS_TORCH_EXPORT void openmps_torch_observe_fallbacks(openmps_torch_fallback_observer observer);

#ifdef __cplusplus
}
#endif
