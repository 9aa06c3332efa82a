#ifndef OPENMPS_LLVM_CONSTRUCTORS_H
#define OPENMPS_LLVM_CONSTRUCTORS_H

#include <cstddef>
#include <vector>

namespace llvm {
class Function;
class GlobalVariable;
class Module;
}

namespace openmps {

// See `openmps_llvm_fold_constructors`.
size_t fold_constructors(llvm::Module &module);

// The variables that a function and what it calls store to, in order of the first store.
std::vector<llvm::GlobalVariable *> written_variables(const llvm::Function *function);

} // namespace openmps
#endif
