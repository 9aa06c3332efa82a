// Activation order matters: the allocator and guard must exist before hooks answer "built", and
// kernels before anybody can make a tensor.
#include "Activation.h"

#include "DispatchStubPatch.h"
#include "Fallback.h"
#include "MPSAllocator.h"
#include "MPSGuardImpl.h"
#include "MPSHooks.h"
#include "Registration.h"
#include "Status.h"
#include "VtablePatch.h"

#include <ATen/Parallel.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/detail/HIPHooksInterface.h>
#include <ATen/detail/XPUHooksInterface.h>

#include <c10/util/Logging.h>

#include <string>
#include <string_view>

namespace openmps {

namespace {

std::string& message() {
  static auto& text = *new std::string();
  return text;
}

// Other accelerators of this build step back: there is one accelerator per process.
void claimAccelerator() {
  const bool cuda =
      reportNotBuilt(at::detail::getCUDAHooks(), "_ZTVN2at18CUDAHooksInterfaceE");
  const bool xpu = reportNotBuilt(at::detail::getXPUHooks(), "_ZTVN2at17XPUHooksInterfaceE");
  const bool hip = reportNotBuilt(at::detail::getHIPHooks(), "_ZTVN2at17HIPHooksInterfaceE");
  TORCH_CHECK(
      cuda && xpu && hip,
      "another accelerator of this torch build could not be told to step back (cuda: ",
      cuda,
      ", xpu: ",
      xpu,
      ", hip: ",
      hip,
      ")");
}

// PyTorch's allocator logs through c10 at level INFO: TORCH_CPP_LOG_LEVEL decides whether it is seen.
void writeLog(const char* text, uint64_t size_bytes) {
  LOG(INFO) << std::string_view(text, size_bytes);
}

// Kernels use as many threads as ATen's ops.
int32_t threadCount() {
  return at::get_num_threads();
}

// Refuses bad settings before anything has changed, and tells about ignored ones. Masks that the profiler cannot take are
// told about as well and raise where the profiler is started: nothing else needs them.
void readSettings() {
  uint32_t fallback = 0;
  check(openmps_settings_fallback(&fallback));
  check(openmps_settings_check_device());
  if (openmps_profile_initialize() != OPENMPS_OK) {
    TORCH_WARN(openmps_error_message());
  }
  check(openmps_set_log_sink(&writeLog));
  check(openmps_set_thread_count_source(&threadCount));
  for (uint32_t index = 0; const char* warning = openmps_settings_warning(index); ++index) {
    TORCH_WARN(warning);
  }
}

int activate(const char* torch_git_version) {
  try {
    readSettings();
    claimAccelerator();
    if (torch_git_version != nullptr && *torch_git_version != '\0') {
      setCommitHash(torch_git_version);
    }
    installAllocators();
    installGuard();
    registerKernels();
    installHooks();
    if (patchDispatchStub() == 0) {
      message() =
          "DispatchStub has no call site to patch in this torch build: composite ops that ask it "
          "about device mps raise an internal assert";
    }
    return 0;
  } catch (const c10::Error& error) {
    message() = error.what_without_backtrace();
  } catch (const std::exception& error) {
    message() = error.what();
  }
  return 1;
}

} // namespace

} // namespace openmps

int openmps_torch_activate(const char* torch_git_version) {
  static const int result = openmps::activate(torch_git_version);
  return result;
}

const char* openmps_torch_error(void) {
  return openmps::message().c_str();
}
