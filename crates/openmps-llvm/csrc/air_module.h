// Shapes clang's module like AIR: entry points with AIR's parameter types, named metadata, no flat pointers where the
// address space can be inferred, no static constructors.
#ifndef OPENMPS_AIR_MODULE_H
#define OPENMPS_AIR_MODULE_H

#include "clang_bridge.h"
#include "kernels.h"

#include <llvm/IR/Module.h>

#include <string>
#include <vector>

namespace openmps {

// `functions[i]` is clang's function for `kernels[i]`. Returns false with a message for what AIR cannot hold.
bool build_air(llvm::Module &module, const std::vector<Kernel> &kernels, const std::vector<llvm::Function *> &functions,
               const OpenmpsClangRequest &request, std::string &message);

} // namespace openmps
#endif
