#ifndef OPENMPS_LLVM_FUNCTION_CONSTANTS_H
#define OPENMPS_LLVM_FUNCTION_CONSTANTS_H

namespace llvm {
class Module;
}

namespace openmps {

// Gives the function constants that the headers declare the form that Apple's compiler gives them: an external initializer each,
// listed in `air.function_constants`, from which constructors compute the variables that code reads. Returns whether there are
// any.
bool define_function_constants(llvm::Module &module);

// Lists the initializers of variables in `llvm.global_ctors` one by one, in order, so that those that depend on no function
// constant can run at compile time.
void split_constructors(llvm::Module &module);

} // namespace openmps
#endif
