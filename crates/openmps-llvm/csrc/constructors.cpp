// What LLVM-C lacks about constructors: running them at compile time.

#include "constructors.h"

#include <llvm-c/Core.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/CtorUtils.h>
#include <llvm/Transforms/Utils/Evaluator.h>

using namespace llvm;

namespace openmps {
namespace {

void collect_written(const Function *function, SetVector<const Function *> &seen,
                     SetVector<GlobalVariable *, std::vector<GlobalVariable *>> &written) {
  if (!seen.insert(function))
    return;
  for (const Instruction &instruction : instructions(function)) {
    const Value *target = nullptr;
    if (const auto *store = dyn_cast<StoreInst>(&instruction))
      target = store->getPointerOperand();
    else if (const auto *call = dyn_cast<CallBase>(&instruction)) {
      if (const Function *callee = call->getCalledFunction(); callee && !callee->isDeclaration())
        collect_written(callee, seen, written);
      else if (call->arg_size() != 0)
        target = call->getArgOperand(0); // memcpy and memset
    }
    if (!target || !target->getType()->isPointerTy())
      continue;
    if (const auto *variable = dyn_cast<GlobalVariable>(getUnderlyingObject(target)))
      written.insert(const_cast<GlobalVariable *>(variable));
  }
}

} // namespace

std::vector<GlobalVariable *> written_variables(const Function *function) {
  SetVector<const Function *> seen;
  SetVector<GlobalVariable *, std::vector<GlobalVariable *>> written;
  collect_written(function, seen, written);
  return written.takeVector();
}

size_t fold_constructors(Module &module) {
  const DataLayout &layout = module.getDataLayout();
  size_t left = 0;
  // What a constructor that cannot run would have written is not known to the ones after it.
  SetVector<GlobalVariable *> unknown;
  optimizeGlobalCtorsList(module, [&](uint32_t, Function *constructor) {
    Evaluator evaluator(layout, nullptr);
    Constant *ignored = nullptr;
    if (evaluator.EvaluateFunction(constructor, ignored, SmallVector<Constant *, 0>())) {
      for (const auto &[variable, initializer] : evaluator.getMutatedInitializers())
        variable->setInitializer(initializer);
      return true;
    }
    ++left;
    for (GlobalVariable *variable : written_variables(constructor))
      if (!variable->isExternallyInitialized() && unknown.insert(variable))
        variable->setExternallyInitialized(true);
    return false;
  });
  for (GlobalVariable *variable : unknown)
    variable->setExternallyInitialized(false);
  return left;
}

} // namespace openmps

/// Runs the constructors of `llvm.global_ctors` in order, keeps what they write as initial values, and removes those that ran
/// from the list. Returns how many could not run: their results depend on what only a host knows, or they loop.
extern "C" size_t openmps_llvm_fold_constructors(LLVMModuleRef module) {
  return openmps::fold_constructors(*unwrap(module));
}
