#include "intrinsics.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

using namespace llvm;

namespace openmps {
namespace {

// The parameter's type in AIR.
Type *air_type(const Argument &argument) {
  return argument.hasByValAttr() ? unwrapped(argument.getParamByValType()) : argument.getType();
}

AttributeList without_byval(LLVMContext &context, const Function &function, AttributeList attributes) {
  for (const Argument &argument : function.args())
    if (argument.hasByValAttr())
      attributes = attributes.removeParamAttributes(context, argument.getArgNo());
  return attributes;
}

void replace_call(CallInst *call, Function *replacement, const Function &old) {
  IRBuilder<> builder(call);
  SmallVector<Value *, 12> values;
  for (const Argument &argument : old.args()) {
    Value *value = call->getArgOperand(argument.getArgNo());
    if (argument.hasByValAttr())
      value = builder.CreateAlignedLoad(air_type(argument), value, argument.getParamAlign());
    values.push_back(value);
  }
  CallInst *fresh = builder.CreateCall(replacement, values);
  fresh->setAttributes(without_byval(call->getContext(), old, call->getAttributes()));
  fresh->setDebugLoc(call->getDebugLoc());
  fresh->takeName(call);
  call->replaceAllUsesWith(fresh);
  call->eraseFromParent();
}

void unwrap(Module &module, Function &function) {
  SmallVector<Type *, 12> types;
  for (const Argument &argument : function.args())
    types.push_back(air_type(argument));
  auto *type = FunctionType::get(function.getReturnType(), types, function.isVarArg());
  auto *replacement = Function::Create(type, GlobalValue::ExternalLinkage, "", &module);
  replacement->setAttributes(without_byval(module.getContext(), function, function.getAttributes()));
  for (User *user : make_early_inc_range(function.users()))
    if (auto *call = dyn_cast<CallInst>(user); call && call->getCalledFunction() == &function)
      replace_call(call, replacement, function);
  // An address that is taken keeps the old declaration, which the verifier then names.
  if (function.use_empty()) {
    replacement->takeName(&function);
    function.eraseFromParent();
  }
}

} // namespace

Type *unwrapped(Type *type) {
  for (auto *record = dyn_cast<StructType>(type); record && record->getNumElements() == 1;
       record = dyn_cast<StructType>(type))
    type = record->getElementType(0);
  return type;
}

void unwrap_vector_parameters(Module &module) {
  for (Function &function : make_early_inc_range(module)) {
    const bool is_air = function.isDeclaration() && function.getName().starts_with("air.");
    if (is_air && any_of(function.args(), [](const Argument &argument) { return argument.hasByValAttr(); }))
      unwrap(module, function);
  }
}

} // namespace openmps
