#ifndef OPENMPS_LLVM_CONSTRUCTORS_H
#define OPENMPS_LLVM_CONSTRUCTORS_H

#include <cstddef>

namespace llvm {
class Module;
}

namespace openmps {

// See `openmps_llvm_fold_constructors`.
size_t fold_constructors(llvm::Module &module);

} // namespace openmps
#endif
