// Declarations of AIR functions that the user's text makes itself, in the form that AIR has them.
#ifndef OPENMPS_INTRINSICS_H
#define OPENMPS_INTRINSICS_H

#include <llvm/IR/Module.h>

namespace openmps {

// A parameter of a vector class, which clang passes by pointer, becomes the vector that AIR passes.
void unwrap_vector_parameters(llvm::Module &module);

// The one vector or scalar inside nested one-element structs: how AIR passes `uint3`.
llvm::Type *unwrapped(llvm::Type *type);

} // namespace openmps
#endif
