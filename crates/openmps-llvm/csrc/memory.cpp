#include <llvm/Support/ErrorHandling.h>

#include <unistd.h>

// What LLVM does when it gets no memory. LLVM-C has an interface for fatal errors, but not for this one.

// Ends the process with `status`, at once and without running anything, when LLVM, clang or `new` gets no memory.
extern "C" void openmps_exit_when_out_of_memory(int status) {
  static int exit_status;
  exit_status = status;
  llvm::remove_bad_alloc_error_handler();
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { _exit(exit_status); });
  llvm::install_out_of_memory_new_handler();
}
