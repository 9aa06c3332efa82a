#include "function_constants.h"

#include "constructors.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <optional>

using namespace llvm;

namespace openmps {
namespace {

constexpr unsigned kConstant = 2;
// What the headers call to read a function constant: its index and its `MTLDataType`.
constexpr const char *kReader = "air.openmps_function_constant";
constexpr const char *kIsDefined = "air.is_function_constant_defined";

// A scalar that function constants may have; its vectors of 2, 3 and 4 have the codes behind it.
struct Scalar {
  unsigned code;
  const char *name;
  const char *mangled;
  Type *(*type)(LLVMContext &);
};

template <unsigned Bits> Type *integer(LLVMContext &context) { return IntegerType::get(context, Bits); }

const Scalar kScalars[] = {
    {3, "float", "f", Type::getFloatTy},   {16, "half", "Dh", Type::getHalfTy}, {29, "int", "i", integer<32>},
    {33, "uint", "j", integer<32>},        {37, "short", "s", integer<16>},     {41, "ushort", "t", integer<16>},
    {45, "char", "c", integer<8>},         {49, "uchar", "h", integer<8>},      {53, "bool", "b", integer<8>},
    {81, "long", "l", integer<64>},        {85, "ulong", "m", integer<64>},     {121, "bfloat", "u6__bf16", Type::getBFloatTy},
};

// The last part of the name in the source: `f` of `_ZN5utils1fE`.
std::string source_name(StringRef symbol) {
  std::string name = demangle(symbol);
  const size_t scope = name.rfind("::");
  return scope == std::string::npos ? name : name.substr(scope + 2);
}

// The variable that a constructor computes.
GlobalVariable *variable_of(Function *constructor) {
  const auto written = written_variables(constructor);
  return written.empty() ? nullptr : written.front();
}

GlobalVariable *create_initializer(Module &module, unsigned index, unsigned code, const std::string &name,
                                   std::string &type_name) {
  const auto *scalar = find_if(kScalars, [&](const Scalar &scalar) { return code >= scalar.code && code < scalar.code + 4; });
  if (scalar == std::end(kScalars))
    return nullptr;
  const unsigned lanes = code - scalar->code + 1;
  Type *type = scalar->type(module.getContext());
  type_name = scalar->name;
  if (lanes > 1) {
    type = FixedVectorType::get(type, lanes);
    type_name += std::to_string(lanes);
  }
  const std::string symbol = "_Z" + std::to_string(name.size()) + name + ".MTL_FC_INIT_" + std::to_string(index) + "_" +
                             scalar->mangled + (lanes > 1 ? std::to_string(lanes) : "");
  auto *variable = new GlobalVariable(module, type, true, GlobalValue::InternalLinkage, UndefValue::get(type), symbol,
                                      nullptr, GlobalValue::NotThreadLocal, kConstant, /*isExternallyInitialized=*/true);
  variable->setSection("air.fc_initializer");
  return variable;
}

// Vectors are copied as memory, which constructors that run at compile time cannot do: copies them as values.
void copy_by_value(GlobalVariable *initializer) {
  for (User *user : make_early_inc_range(initializer->users())) {
    auto *copy = dyn_cast<MemCpyInst>(user);
    if (!copy || copy->getRawSource() != initializer)
      continue;
    IRBuilder<> builder(copy);
    Value *value = builder.CreateLoad(initializer->getValueType(), initializer);
    builder.CreateStore(value, copy->getRawDest());
    copy->eraseFromParent();
  }
}

// Answers to questions about variables that are no function constants are "no". Returns the initializers asked about.
SmallPtrSet<GlobalVariable *, 8> bind_questions(Module &module, const DenseMap<GlobalVariable *, GlobalVariable *> &initializers) {
  SmallPtrSet<GlobalVariable *, 8> asked;
  Function *question = module.getFunction(kIsDefined);
  if (!question)
    return asked;
  for (User *user : make_early_inc_range(question->users())) {
    auto *call = cast<CallInst>(user);
    auto *variable = dyn_cast<GlobalVariable>(call->getArgOperand(0)->stripPointerCasts());
    if (GlobalVariable *initializer = initializers.lookup(variable)) {
      call->setArgOperand(0, initializer);
      asked.insert(initializer);
    } else {
      call->replaceAllUsesWith(Constant::getNullValue(call->getType()));
      call->eraseFromParent();
    }
  }
  return asked;
}

} // namespace

bool define_function_constants(Module &module) {
  struct Declared {
    GlobalVariable *initializer;
    std::string type_name, name;
    unsigned index;
  };
  std::vector<Declared> declared;
  DenseMap<GlobalVariable *, GlobalVariable *> initializers;
  DenseMap<unsigned, GlobalVariable *> by_index;
  Function *reader = module.getFunction(kReader);
  for (User *user : make_early_inc_range(reader ? reader->users() : iterator_range<Value::user_iterator>({}, {}))) {
    auto *call = cast<CallInst>(user);
    const auto *index = dyn_cast<ConstantInt>(call->getArgOperand(0));
    const auto *code = dyn_cast<ConstantInt>(call->getArgOperand(1));
    GlobalVariable *variable = variable_of(call->getFunction());
    if (!index || !code || !variable)
      continue;
    const unsigned number = unsigned(index->getZExtValue());
    GlobalVariable *&initializer = by_index[number];
    if (!initializer) {
      Declared constant{nullptr, "", source_name(variable->getName()), number};
      initializer = create_initializer(module, number, unsigned(code->getZExtValue()), constant.name, constant.type_name);
      if (!initializer)
        continue;
      constant.initializer = initializer;
      declared.push_back(std::move(constant));
    }
    initializers[variable] = initializer;
    call->replaceAllUsesWith(initializer);
    call->eraseFromParent();
  }
  for (const Declared &constant : declared)
    copy_by_value(constant.initializer);
  const auto asked = bind_questions(module, initializers);
  LLVMContext &context = module.getContext();
  sort(declared, [](const Declared &left, const Declared &right) { return left.index < right.index; });
  for (const Declared &constant : declared) {
    const bool is_required = !asked.contains(constant.initializer);
    Metadata *fields[] = {
        ValueAsMetadata::get(constant.initializer), MDString::get(context, constant.type_name),
        MDString::get(context, constant.name),
        ConstantAsMetadata::get(ConstantInt::get(Type::getInt32Ty(context), constant.index)),
        ConstantAsMetadata::get(ConstantInt::getBool(context, is_required))};
    module.getOrInsertNamedMetadata("air.function_constants")->addOperand(MDNode::get(context, fields));
  }
  return !declared.empty();
}

void split_constructors(Module &module) {
  GlobalVariable *list = module.getNamedGlobal("llvm.global_ctors");
  const auto *entries = list ? dyn_cast<ConstantArray>(list->getInitializer()) : nullptr;
  if (!entries)
    return;
  SmallVector<Constant *, 16> parts;
  for (const Use &entry : entries->operands()) {
    auto *fields = cast<ConstantStruct>(entry);
    auto *constructor = dyn_cast<Function>(fields->getOperand(1));
    SmallVector<Function *, 16> callees;
    const auto is_call_or_end = [&](const Instruction &instruction) {
      if (const auto *call = dyn_cast<CallInst>(&instruction)) {
        Function *callee = call->getCalledFunction();
        if (!callee || callee->isDeclaration() || callee->arg_size() != 0 || !callee->getReturnType()->isVoidTy())
          return false;
        callees.push_back(callee);
        return true;
      }
      return isa<ReturnInst>(instruction);
    };
    const bool is_list = constructor && !constructor->isDeclaration() && all_of(instructions(*constructor), is_call_or_end);
    if (!is_list) {
      parts.push_back(fields);
      continue;
    }
    for (Function *callee : callees)
      parts.push_back(ConstantStruct::get(fields->getType(), fields->getOperand(0), callee, fields->getOperand(2)));
  }
  auto *type = ArrayType::get(cast<ArrayType>(list->getValueType())->getElementType(), parts.size());
  auto *split = new GlobalVariable(module, type, false, GlobalValue::AppendingLinkage, ConstantArray::get(type, parts), "",
                                   list, GlobalValue::NotThreadLocal, list->getAddressSpace());
  split->takeName(list);
  list->eraseFromParent();
}

} // namespace openmps
