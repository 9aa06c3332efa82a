// What LLVM-C lacks about modules: emptying a list of metadata, and copying a part.

#include <llvm-c/Core.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Cloning.h>

/// Removes every node of the list `name`, if the module has one.
extern "C" void openmps_llvm_clear_named_metadata(LLVMModuleRef module, const char *name, size_t size) {
  if (llvm::NamedMDNode *list = llvm::unwrap(module)->getNamedMetadata(llvm::StringRef(name, size)))
    list->clearOperands();
}

/// A copy of the module in which only `count` functions and globals of it keep their definitions; others are declared.
extern "C" LLVMModuleRef openmps_llvm_clone_definitions(LLVMModuleRef module, const LLVMValueRef *kept, size_t count) {
  llvm::SmallPtrSet<const llvm::Value *, 32> definitions;
  for (size_t index = 0; index < count; ++index)
    definitions.insert(llvm::unwrap(kept[index]));
  llvm::ValueToValueMapTy values;
  auto is_kept = [&](const llvm::GlobalValue *value) { return definitions.contains(value); };
  return llvm::wrap(llvm::CloneModule(*llvm::unwrap(module), values, is_kept).release());
}
