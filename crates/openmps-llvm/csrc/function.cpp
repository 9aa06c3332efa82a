// What LLVM-C lacks about functions: copying one, and giving its body to another.

#include <llvm-c/Core.h>
#include <llvm/IR/Function.h>
#include <llvm/Transforms/Utils/Cloning.h>

/// A copy of a function definition in the same module, unnamed, with calls of the function itself left as they are.
extern "C" LLVMValueRef openmps_llvm_clone_function(LLVMValueRef value) {
  llvm::ValueToValueMapTy values;
  return llvm::wrap(llvm::CloneFunction(llvm::unwrap<llvm::Function>(value), values));
}

/// Moves all blocks of `from`, a function of the same module, behind those of `to`.
extern "C" void openmps_llvm_move_blocks(LLVMValueRef to, LLVMValueRef from) {
  auto *target = llvm::unwrap<llvm::Function>(to);
  target->splice(target->end(), llvm::unwrap<llvm::Function>(from));
}
