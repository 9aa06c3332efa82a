#include "air_module.h"
#include "constructors.h"
#include "function_constants.h"
#include "intrinsics.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/Scalar/DCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/InferAddressSpaces.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

using namespace llvm;

namespace openmps {
namespace {

constexpr unsigned kFlat = 0; // clang's default address space, and AIR's thread space.
constexpr unsigned kDevice = 1;
constexpr unsigned kConstant = 2;
constexpr unsigned kThreadgroup = 3;

// What modules of Apple's compiler say of themselves.
constexpr unsigned kReadWriteTextureCountMax = 8;

StringRef text(OpenmpsText text) { return StringRef(text.data, text.size); }

Metadata *string_node(LLVMContext &context, StringRef value) { return MDString::get(context, value); }

Metadata *integer_node(LLVMContext &context, uint64_t value) {
  return ConstantAsMetadata::get(ConstantInt::get(Type::getInt32Ty(context), value));
}

// A vector of three fills the memory of four; storing all of it lets SROA see through copies of the whole.
Value *padded(IRBuilder<> &builder, Value *value) {
  const auto *vector = dyn_cast<FixedVectorType>(value->getType());
  if (!vector || vector->getNumElements() != 3)
    return value;
  return builder.CreateShuffleVector(value, ArrayRef<int>{0, 1, 2, PoisonMaskElem});
}

bool is_flat_pointer(Type *type) { return type->isPointerTy() && type->getPointerAddressSpace() == kFlat; }

// Annotations of declarations that are no kernels' (a prototype, a helper with attributes) have served their purpose.
void drop_annotations(Module &module) {
  if (GlobalVariable *list = module.getNamedGlobal("llvm.global.annotations"))
    list->eraseFromParent();
  for (Function &function : module) {
    const Intrinsic::ID id = function.getIntrinsicID();
    if (id != Intrinsic::var_annotation && id != Intrinsic::ptr_annotation && id != Intrinsic::annotation)
      continue;
    for (User *user : make_early_inc_range(function.users())) {
      auto *call = cast<CallInst>(user);
      if (!call->getType()->isVoidTy())
        call->replaceAllUsesWith(call->getArgOperand(0));
      call->eraseFromParent();
    }
  }
}

// One module is one library: everything but entry points is private to it, in the C calling convention as AIR has it.
// Functions that take or return flat pointers are inlined, since only their callers know the address space.
void privatize(Module &module) {
  for (Function &function : module) {
    function.setCallingConv(CallingConv::C);
    if (function.isDeclaration())
      continue;
    function.setComdat(nullptr);
    function.setLinkage(GlobalValue::InternalLinkage);
    function.setVisibility(GlobalValue::DefaultVisibility);
    const bool takes_flat = any_of(function.args(), [](Argument &argument) { return is_flat_pointer(argument.getType()); });
    if ((takes_flat || is_flat_pointer(function.getReturnType())) && !function.hasFnAttribute(Attribute::NoInline))
      function.addFnAttr(Attribute::AlwaysInline);
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<CallBase>(&instruction))
        call->setCallingConv(CallingConv::C);
  }
  for (GlobalVariable &variable : module.globals()) {
    if (variable.isDeclaration() || variable.hasAppendingLinkage())
      continue;
    variable.setComdat(nullptr);
    variable.setLinkage(GlobalValue::InternalLinkage);
    variable.setVisibility(GlobalValue::DefaultVisibility);
    // Metal does not initialize threadgroup memory: say that the guard of such a variable is done.
    if (variable.getName().starts_with("_ZGV")) {
      variable.setInitializer(ConstantInt::get(variable.getValueType(), 1));
      variable.setConstant(true);
    } else if (variable.getAddressSpace() == kThreadgroup) {
      variable.setInitializer(UndefValue::get(variable.getValueType()));
    }
  }
}

// A library has no device memory of its own: what clang put there (string literals, `constexpr` tables) is constant.
// Returns false where it is a variable.
bool move_globals_to_constant(Module &module) {
  SmallVector<GlobalVariable *, 16> variables;
  for (GlobalVariable &variable : module.globals())
    if (variable.getAddressSpace() == kDevice && !variable.isDeclaration() && !variable.hasAppendingLinkage())
      variables.push_back(&variable);
  for (GlobalVariable *variable : variables) {
    if (!variable->isConstant())
      return false;
    auto *moved = new GlobalVariable(module, variable->getValueType(), true, variable->getLinkage(),
                                     variable->getInitializer(), "", variable, GlobalValue::NotThreadLocal, kConstant);
    moved->takeName(variable);
    moved->setAlignment(variable->getAlign());
    moved->setUnnamedAddr(variable->getUnnamedAddr());
    variable->replaceAllUsesWith(ConstantExpr::getAddrSpaceCast(moved, variable->getType()));
    variable->eraseFromParent();
  }
  return true;
}

// The attributes of a function with another result.
AttributeList without_result(LLVMContext &context, AttributeList attributes, unsigned parameter_count) {
  SmallVector<AttributeSet, 16> parameters;
  for (unsigned i = 0; i < parameter_count; ++i)
    parameters.push_back(attributes.getParamAttrs(i));
  return AttributeList::get(context, attributes.getFnAttrs(), AttributeSet(), parameters);
}

// Texture functions that read return a color and a byte in AIR, which says whether a sparse texture has memory there. The headers
// declare the color alone.
void add_residency(Module &module) {
  LLVMContext &context = module.getContext();
  for (Function &function : make_early_inc_range(module)) {
    StringRef name = function.getName();
    const bool is_texture = name.consume_front("air.") && (name.contains("_texture_") || name.contains("_depth_"));
    const bool reads = name.starts_with("read_") || name.starts_with("sample_") || name.starts_with("gather_");
    if (!function.isDeclaration() || !is_texture || !reads || function.getReturnType()->isStructTy())
      continue;
    auto *result = StructType::get(context, {function.getReturnType(), Type::getInt8Ty(context)});
    auto *type = FunctionType::get(result, function.getFunctionType()->params(), false);
    auto *replacement = Function::Create(type, function.getLinkage(), function.getAddressSpace(), "", &module);
    replacement->takeName(&function);
    replacement->setAttributes(without_result(context, function.getAttributes(), unsigned(function.arg_size())));
    for (User *user : make_early_inc_range(function.users())) {
      auto *call = dyn_cast<CallInst>(user);
      if (!call || call->getCalledOperand() != &function)
        continue;
      IRBuilder<> builder(call);
      SmallVector<Value *, 16> operands(call->args());
      CallInst *whole = builder.CreateCall(replacement, operands);
      whole->setAttributes(without_result(context, call->getAttributes(), call->arg_size()));
      call->replaceAllUsesWith(builder.CreateExtractValue(whole, 0));
      call->eraseFromParent();
    }
    if (function.use_empty())
      function.eraseFromParent();
  }
}

// A `constexpr sampler` is a state in the clothes of an address, marked by its highest bit (see the headers' sampler.h). Each
// state becomes a constant of AIR's name and form, whose address takes its place.
void place_sampler_states(Module &module) {
  LLVMContext &context = module.getContext();
  constexpr uint64_t kMark = uint64_t(1) << 63;
  SetVector<ConstantExpr *> states;
  SmallPtrSet<const Constant *, 32> seen;
  SmallVector<Constant *, 32> open;
  for (GlobalVariable &variable : module.globals())
    if (variable.hasInitializer())
      open.push_back(variable.getInitializer());
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      for (Value *operand : instruction.operand_values())
        if (auto *constant = dyn_cast<Constant>(operand))
          open.push_back(constant);
  while (!open.empty()) {
    Constant *constant = open.pop_back_val();
    if (isa<GlobalValue>(constant) || !seen.insert(constant).second)
      continue;
    auto *expression = dyn_cast<ConstantExpr>(constant);
    if (expression && expression->getOpcode() == Instruction::IntToPtr &&
        expression->getType()->getPointerAddressSpace() == kConstant) {
      const auto *word = dyn_cast<ConstantInt>(expression->getOperand(0));
      if (word && (word->getZExtValue() & kMark) != 0)
        states.insert(expression);
    }
    for (Value *operand : constant->operand_values())
      if (auto *inner = dyn_cast<Constant>(operand))
        open.push_back(inner);
  }
  // In the order of their words: the order of use lists is no order of the source.
  std::vector<ConstantExpr *> sorted(states.begin(), states.end());
  const auto word_of = [](const ConstantExpr *state) { return cast<ConstantInt>(state->getOperand(0))->getZExtValue(); };
  llvm::sort(sorted, [&](const auto *left, const auto *right) { return word_of(left) < word_of(right); });
  for (ConstantExpr *state : sorted) {
    Type *word = Type::getInt64Ty(context);
    Constant *words = ConstantArray::get(
        ArrayType::get(word, 2), {ConstantInt::get(word, word_of(state) & ~kMark), ConstantInt::get(word, 0)});
    auto *variable = new GlobalVariable(module, words->getType(), true, GlobalValue::InternalLinkage, words,
                                        "__air_sampler_state", nullptr, GlobalValue::NotThreadLocal, kConstant);
    variable->setAlignment(Align(8));
    state->replaceAllUsesWith(variable);
  }
}

// Whether AIR passes the parameter as the address of an array in thread memory.
bool is_handle_array(const Kernel &kernel, const Argument &argument) {
  return argument.getArgNo() < kernel.parameters.size() && kernel.parameters[argument.getArgNo()].is_array;
}

// A function under the host name whose parameters have AIR's types; the body is inlined into it.
Function *create_entry_point(Module &module, Function *body, const Kernel &kernel) {
  LLVMContext &context = module.getContext();
  std::vector<Type *> types;
  for (Argument &argument : body->args())
    types.push_back(is_handle_array(kernel, argument) ? argument.getType()
                    : argument.hasByValAttr()         ? unwrapped(argument.getParamByValType())
                                                      : argument.getType());
  if (Function *taken = module.getFunction(kernel.host_name))
    taken->setName(kernel.host_name + ".body");
  auto *entry = Function::Create(FunctionType::get(Type::getVoidTy(context), types, false),
                                 GlobalValue::ExternalLinkage, kernel.host_name, &module);
  AttrBuilder attributes(context);
  attributes.addAttribute(Attribute::Convergent).addAttribute(Attribute::MustProgress).addAttribute(Attribute::NoUnwind);
  attributes.addAttribute("no-builtins");
  if (kernel.threads_per_threadgroup_max != 0)
    attributes.addAttribute("max-work-group-size", std::to_string(kernel.threads_per_threadgroup_max));
  entry->addFnAttrs(attributes);

  IRBuilder<> builder(BasicBlock::Create(context, "entry", entry));
  std::vector<Value *> values;
  for (Argument &argument : body->args()) {
    const unsigned position = argument.getArgNo();
    Argument *parameter = entry->getArg(position);
    if (position < kernel.parameters.size())
      parameter->setName(kernel.parameters[position].name);
    if (argument.hasByValAttr() && !is_handle_array(kernel, argument)) {
      AllocaInst *slot = builder.CreateAlloca(argument.getParamByValType());
      slot->setAlignment(argument.getParamAlign().valueOrOne());
      builder.CreateStore(padded(builder, parameter), slot);
      values.push_back(slot);
      continue;
    }
    for (Attribute::AttrKind kind : {Attribute::NoUndef, Attribute::Alignment, Attribute::Dereferenceable})
      if (argument.hasAttribute(kind))
        parameter->addAttr(argument.getAttribute(kind));
    values.push_back(parameter);
  }
  CallInst *call = builder.CreateCall(body, values);
  call->setAttributes(body->getAttributes().removeFnAttributes(context));
  builder.CreateRetVoid();
  body->removeFnAttr(Attribute::NoInline);
  body->removeFnAttr(Attribute::OptimizeNone);
  body->addFnAttr(Attribute::AlwaysInline);
  return entry;
}

// An argument node of `!air.kernel`, in the fixed order that Apple's compiler writes.
MDNode *argument_node(LLVMContext &context, unsigned position, const KernelParameter &parameter) {
  std::vector<Metadata *> fields{integer_node(context, position)};
  if (parameter.gate_variable) {
    fields.push_back(string_node(context, "air.function_constant"));
    fields.push_back(MDNode::get(context, {ValueAsMetadata::get(parameter.gate_variable), string_node(context, "bool"),
                                           string_node(context, parameter.gate->getName())}));
  }
  const auto add_string = [&](StringRef value) { fields.push_back(string_node(context, value)); };
  const auto add_integer = [&](uint64_t value) { fields.push_back(integer_node(context, value)); };
  const bool is_texture = parameter.kind == KernelParameter::Kind::Texture;
  if (parameter.kind == KernelParameter::Kind::Builtin) {
    add_string("air." + parameter.builtin);
  } else if (is_texture || parameter.kind == KernelParameter::Kind::Sampler) {
    add_string(is_texture ? "air.texture" : "air.sampler");
    add_string("air.location_index");
    add_integer(parameter.index);
    add_integer(parameter.index_count);
    if (is_texture)
      add_string("air." + parameter.access);
  } else {
    add_string(parameter.kind == KernelParameter::Kind::IndirectBuffer ? "air.indirect_buffer" : "air.buffer");
    if (parameter.is_reference && parameter.size_bytes != 0) {
      add_string("air.buffer_size");
      add_integer(parameter.size_bytes);
    }
    add_string("air.location_index");
    add_integer(parameter.index);
    add_integer(1);
    add_string(parameter.is_read_only ? "air.read" : "air.read_write");
    add_string("air.address_space");
    add_integer(parameter.address_space);
    if (parameter.size_bytes != 0) {
      add_string("air.arg_type_size");
      add_integer(parameter.size_bytes);
      add_string("air.arg_type_align_size");
      add_integer(parameter.align_bytes);
    }
  }
  add_string("air.arg_type_name");
  add_string(parameter.type_name);
  add_string("air.arg_name");
  add_string(parameter.name);
  return MDNode::get(context, fields);
}

void add_kernel_node(Module &module, Function *entry, const Kernel &kernel) {
  LLVMContext &context = module.getContext();
  std::vector<Metadata *> arguments;
  for (size_t i = 0; i < kernel.parameters.size(); ++i)
    arguments.push_back(argument_node(context, unsigned(i), kernel.parameters[i]));
  std::vector<Metadata *> fields{ValueAsMetadata::get(entry), MDNode::get(context, {}), MDNode::get(context, arguments)};
  if (kernel.threads_per_threadgroup_max != 0)
    fields.push_back(MDNode::get(context, {string_node(context, "air.max_work_group_size"),
                                           integer_node(context, kernel.threads_per_threadgroup_max)}));
  module.getOrInsertNamedMetadata("air.kernel")->addOperand(MDNode::get(context, fields));
}

// `!air.sampler_states`: the states, in the module's order.
void add_sampler_states(Module &module) {
  LLVMContext &context = module.getContext();
  for (GlobalVariable &variable : module.globals())
    if (variable.getName().starts_with("__air_sampler_state"))
      module.getOrInsertNamedMetadata("air.sampler_states")
          ->addOperand(MDNode::get(context, {string_node(context, "air.sampler_state"), ValueAsMetadata::get(&variable)}));
}

void add_module_metadata(Module &module, const OpenmpsClangRequest &request) {
  LLVMContext &context = module.getContext();
  for (const char *name : {"llvm.ident", "opencl.ocl.version", "opencl.spir.version", "opencl.used.extensions"})
    if (NamedMDNode *node = module.getNamedMetadata(name))
      module.eraseNamedMetadata(node);
  const auto version = [&](const uint32_t(&numbers)[3]) {
    std::vector<Metadata *> fields;
    for (uint32_t number : numbers)
      fields.push_back(integer_node(context, number));
    return fields;
  };
  module.getOrInsertNamedMetadata("air.version")->addOperand(MDNode::get(context, version(request.air_version)));
  std::vector<Metadata *> language{string_node(context, "Metal")};
  append_range(language, version(request.language_version));
  module.getOrInsertNamedMetadata("air.language_version")->addOperand(MDNode::get(context, language));
  for (size_t i = 0; i < request.compile_option_count; ++i)
    module.getOrInsertNamedMetadata("air.compile_options")
        ->addOperand(MDNode::get(context, {string_node(context, text(request.compile_options[i]))}));
  module.getOrInsertNamedMetadata("llvm.ident")
      ->addOperand(MDNode::get(context, {string_node(context, "openmps")}));
  module.addModuleFlag(Module::Max, "air.max_device_buffers", request.buffer_count_max);
  module.addModuleFlag(Module::Max, "air.max_constant_buffers", request.buffer_count_max);
  module.addModuleFlag(Module::Max, "air.max_threadgroup_buffers", request.buffer_count_max);
  module.addModuleFlag(Module::Max, "air.max_textures", kTextureCountMax);
  module.addModuleFlag(Module::Max, "air.max_read_write_textures", kReadWriteTextureCountMax);
  module.addModuleFlag(Module::Max, "air.max_samplers", kSamplerCountMax);
  module.setTargetTriple(Triple(text(request.triple)));
  module.setDataLayout(text(request.data_layout));
}

// Runs the static constructors at compile time: program-scope constants whose initializer is no constant expression. Those that
// depend on function constants stay for who specializes the library.
bool run_constructors(Module &module, std::string &message) {
  split_constructors(module);
  const bool has_constants = define_function_constants(module);
  if (fold_constructors(module) == 0 || has_constants)
    return true;
  message = "the initial value of a program-scope constant cannot be computed at compile time";
  return false;
}

// Metal takes the amount of a shift modulo the width of what is shifted, as its compiler writes it out. To C++ a larger amount has
// no meaning, and clang hands it on: the result would depend on the engine.
void wrap_shift_amounts(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : instructions(function)) {
      if (!instruction.isShift())
        continue;
      Value *amount = instruction.getOperand(1);
      const unsigned bits = amount->getType()->getScalarSizeInBits();
      const APInt *number = nullptr;
      if (!isPowerOf2_32(bits) || (PatternMatch::match(amount, PatternMatch::m_APInt(number)) && number->ult(bits)))
        continue;
      IRBuilder<> builder(&instruction);
      instruction.setOperand(1, builder.CreateAnd(amount, bits - 1));
    }
}

// Only what makes AIR out of clang's output; real optimization is the engine's job.
void clean(Module &module) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager graph;
  ModuleAnalysisManager modules;
  PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graph, modules);

  FunctionPassManager scalar;
  scalar.addPass(SROAPass(SROAOptions::ModifyCFG));
  scalar.addPass(EarlyCSEPass());
  scalar.addPass(InferAddressSpacesPass(kFlat));
  scalar.addPass(SROAPass(SROAOptions::ModifyCFG));
  scalar.addPass(EarlyCSEPass());
  scalar.addPass(SimplifyCFGPass());
  scalar.addPass(InferAddressSpacesPass(kFlat));
  scalar.addPass(DCEPass());
  ModulePassManager pipeline;
  pipeline.addPass(AlwaysInlinerPass(/*InsertLifetime=*/false));
  pipeline.addPass(GlobalDCEPass());
  pipeline.addPass(createModuleToFunctionPassAdaptor(std::move(scalar)));
  pipeline.run(module, modules);
}

// What the inliner leaves as hints, and what nothing refers to any more.
void drop_dead(Module &module) {
  for (Function &function : make_early_inc_range(module)) {
    if (function.getIntrinsicID() == Intrinsic::experimental_noalias_scope_decl)
      for (User *user : make_early_inc_range(function.users()))
        cast<Instruction>(user)->eraseFromParent();
    function.removeDeadConstantUsers();
    const bool is_private = function.isDeclaration() || function.hasInternalLinkage();
    if (is_private && function.use_empty())
      function.eraseFromParent();
  }
  for (GlobalVariable &variable : make_early_inc_range(module.globals())) {
    variable.removeDeadConstantUsers();
    if (variable.hasInternalLinkage() && variable.use_empty())
      variable.eraseFromParent();
  }
}

// Fast math as Metal's relaxed mode has it. Kernels compare with `-INFINITY` and test for NaN, and under a promise that there are
// none such a comparison is a constant. `float_control(precise, off)` makes the promise; the compile option does not.
void keep_nan_and_infinity(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (isa<FPMathOperator>(instruction)) {
        instruction.setHasNoNaNs(false);
        instruction.setHasNoInfs(false);
      }
}

// What C++ has and Metal has not, and clang does not reject while it compiles for a device. Null if there is none.
const char *find_unsupported(const Module &module) {
  if (module.getFunction("__cxa_throw") || module.getFunction("__cxa_allocate_exception"))
    return "exceptions are not supported in Metal";
  const auto is_double = [](const Value *value) { return value->getType()->getScalarType()->isDoubleTy(); };
  for (const Function &function : module)
    for (const Instruction &instruction : instructions(function)) {
      if (const auto *call = dyn_cast<CallBase>(&instruction); call && call->isInlineAsm())
        return "inline assembly is not supported in Metal";
      if (is_double(&instruction) || any_of(instruction.operand_values(), is_double))
        return "'double' is not supported in Metal";
    }
  return nullptr;
}

} // namespace

bool build_air(Module &module, const std::vector<Kernel> &kernels, const std::vector<Function *> &functions,
               const OpenmpsClangRequest &request, std::string &message) {
  drop_annotations(module);
  wrap_shift_amounts(module);
  unwrap_vector_parameters(module);
  keep_nan_and_infinity(module);
  privatize(module);
  std::vector<Function *> entries;
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (!functions[i]) {
      message = "clang generated no code for kernel '" + kernels[i].host_name + "'";
      return false;
    }
    entries.push_back(create_entry_point(module, functions[i], kernels[i]));
  }
  if (!move_globals_to_constant(module)) {
    message = "program scope variable must reside in constant address space";
    return false;
  }
  clean(module);
  if (!run_constructors(module, message))
    return false;
  add_residency(module);
  place_sampler_states(module);
  drop_dead(module);
  if (const char *unsupported = find_unsupported(module)) {
    message = unsupported;
    return false;
  }
  for (size_t i = 0; i < kernels.size(); ++i)
    add_kernel_node(module, entries[i], kernels[i]);
  add_sampler_states(module);
  add_module_metadata(module, request);
  return true;
}

} // namespace openmps
