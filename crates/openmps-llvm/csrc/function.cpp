// What LLVM-C lacks about functions: copying one, and giving its body to another.

#include <llvm-c/Core.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/DerivedTypes.h>
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

/// Gives a function definition one more parameter of type `type` at the end. The function is a new one then, with the name, the
/// blocks and the uses of the old, which is gone; calls of it would have one argument too few.
extern "C" LLVMValueRef openmps_llvm_add_parameter(LLVMValueRef value, LLVMTypeRef type) {
  auto *old = llvm::unwrap<llvm::Function>(value);
  llvm::SmallVector<llvm::Type *> types(old->getFunctionType()->params());
  types.push_back(llvm::unwrap(type));
  auto *changed = llvm::FunctionType::get(old->getReturnType(), types, old->isVarArg());
  auto *function = llvm::Function::Create(changed, old->getLinkage(), old->getAddressSpace(), "", old->getParent());
  function->copyAttributesFrom(old);
  function->splice(function->end(), old);
  for (auto [before, after] : llvm::zip(old->args(), function->args())) {
    after.takeName(&before);
    before.replaceAllUsesWith(&after);
  }
  function->takeName(old);
  old->replaceAllUsesWith(function);
  old->eraseFromParent();
  return llvm::wrap(function);
}
