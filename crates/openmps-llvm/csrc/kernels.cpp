#include "kernels.h"
#include "annotations.h"
#include "kernel_checks.h"

#include <clang/AST/Attr.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/Expr.h>
#include <clang/AST/PrettyPrinter.h>

#include <algorithm>

using namespace clang;

namespace openmps {
namespace {

// AIR's numbers, which the bridge gives clang as its address-space map.
constexpr unsigned kThread = 0;
constexpr unsigned kThreadgroup = 3;

// `metal::NAME<T, …>`: the specialization, else null.
const ClassTemplateSpecializationDecl *library_template(QualType type) {
  const auto *record = type->getAsCXXRecordDecl();
  const auto *specialization = dyn_cast_or_null<ClassTemplateSpecializationDecl>(record);
  if (!specialization || !specialization->getDeclContext()->getRedeclContext()->isNamespace())
    return nullptr;
  const auto *scope = cast<NamespaceDecl>(specialization->getDeclContext()->getRedeclContext());
  return scope->getName() == "metal" ? specialization : nullptr;
}

std::string scalar_name(QualType type, const PrintingPolicy &policy) {
  if (const auto *builtin = type->getAs<BuiltinType>()) {
    switch (builtin->getKind()) {
    case BuiltinType::UChar:
      return "uchar";
    case BuiltinType::UShort:
      return "ushort";
    case BuiltinType::UInt:
      return "uint";
    case BuiltinType::ULong:
      return "ulong";
    case BuiltinType::Half:
    case BuiltinType::Float16:
      return "half";
    case BuiltinType::BFloat16:
      return "bfloat";
    default:
      break;
    }
  }
  return type.getUnqualifiedType().getAsString(policy);
}

// Of a texture type its access as MSL spells it, else null: `metal::texture2d<float, access::read>` and its relatives.
const char *texture_access(const ClassTemplateSpecializationDecl *specialization) {
  const auto &arguments = specialization->getTemplateArgs();
  const StringRef name = specialization->getName();
  if ((!name.starts_with("texture") && !name.starts_with("depth")) || arguments.size() != 2 ||
      arguments[1].getKind() != TemplateArgument::Integral)
    return nullptr;
  constexpr const char *kNames[] = {"sample", "read", "write", "read_write"};
  const uint64_t access = arguments[1].getAsIntegral().getZExtValue();
  return access < std::size(kNames) ? kNames[access] : nullptr;
}

// `metal::sampler`.
bool is_sampler(QualType type) {
  const auto *record = type->getAsCXXRecordDecl();
  const auto *scope = record ? dyn_cast<NamespaceDecl>(record->getDeclContext()->getRedeclContext()) : nullptr;
  return scope && scope->getName() == "metal" && record->getName() == "sampler";
}

// The type as MSL spells it: `float4`, `packed_half3`, `float3x3`, `atomic_uint`.
std::string type_name(QualType type, const PrintingPolicy &policy) {
  const QualType canonical = type.getCanonicalType().getUnqualifiedType();
  if (const auto *specialization = library_template(canonical)) {
    const auto &arguments = specialization->getTemplateArgs();
    const StringRef name = specialization->getName();
    if (arguments.size() >= 1 && arguments[0].getKind() == TemplateArgument::Type) {
      const std::string element = scalar_name(arguments[0].getAsType(), policy);
      std::string extent;
      for (unsigned i = 1; i < arguments.size() && arguments[i].getKind() == TemplateArgument::Integral; ++i)
        extent += (i > 1 ? "x" : "") + std::to_string(arguments[i].getAsIntegral().getExtValue());
      if (name == "vec" || name == "matrix")
        return element + extent;
      if (name == "packed_vec")
        return "packed_" + element + extent;
      if (name == "atomic" || name == "_atomic")
        return "atomic_" + element;
      if (const char *access = texture_access(specialization))
        return (name + "<" + element + ", " + access + ">").str();
      if (name == "array")
        return "array<" + type_name(arguments[0].getAsType(), policy) + ", " + extent + ">";
    }
  }
  return scalar_name(canonical->isBuiltinType() ? canonical : type, policy);
}

bool contains_pointer(QualType type, unsigned depth = 0) {
  constexpr unsigned kDepthMax = 16; // Nesting of structs in an argument buffer.
  type = type.getCanonicalType();
  if (type->isPointerType())
    return true;
  if (const auto *array = dyn_cast<ArrayType>(type.getTypePtr()))
    return contains_pointer(array->getElementType(), depth);
  const auto *record = type->getAsCXXRecordDecl();
  if (!record || !record->hasDefinition() || depth == kDepthMax)
    return false;
  for (const FieldDecl *field : record->fields())
    if (contains_pointer(field->getType(), depth + 1))
      return true;
  return false;
}

// ushort, uint, or a vector of two or three of them.
bool is_position_type(QualType type) {
  const QualType canonical = type.getCanonicalType().getUnqualifiedType();
  if (const auto *specialization = library_template(canonical)) {
    const auto &arguments = specialization->getTemplateArgs();
    if (specialization->getName() != "vec" || arguments.size() != 2 ||
        arguments[0].getKind() != TemplateArgument::Type || arguments[1].getKind() != TemplateArgument::Integral)
      return false;
    const int64_t lanes = arguments[1].getAsIntegral().getExtValue();
    return (lanes == 2 || lanes == 3) && is_position_type(arguments[0].getAsType());
  }
  return canonical->isSpecificBuiltinType(BuiltinType::UShort) || canonical->isSpecificBuiltinType(BuiltinType::UInt);
}

// Where the user asked for this function: the explicit instantiation of a template, else the declaration.
SourceLocation place_of(const FunctionDecl *function) {
  const SourceLocation instantiation = function->getPointOfInstantiation();
  return instantiation.isValid() ? instantiation : function->getLocation();
}

PrintingPolicy printing_policy(const ASTContext &context) {
  PrintingPolicy policy(context.getLangOpts());
  policy.SuppressTagKeyword = true;
  policy.SuppressScope = true;
  return policy;
}

// The variable whose address an annotation has.
const VarDecl *variable_argument(const AnnotateAttr *attribute) {
  for (const Expr *argument : attribute->args()) {
    argument = argument->IgnoreParenImpCasts();
    if (const auto *constant = dyn_cast<ConstantExpr>(argument))
      argument = constant->getSubExpr()->IgnoreParenImpCasts();
    if (const auto *address = dyn_cast<UnaryOperator>(argument); address && address->getOpcode() == UO_AddrOf)
      argument = address->getSubExpr()->IgnoreParenImpCasts();
    if (const auto *reference = dyn_cast<DeclRefExpr>(argument))
      return dyn_cast<VarDecl>(reference->getDecl());
  }
  return nullptr;
}

} // namespace

template <unsigned Size>
DiagnosticBuilder KernelCollector::error(SourceLocation location, const char (&text)[Size]) {
  return diagnostics.Report(location, diagnostics.getCustomDiagID(DiagnosticsEngine::Error, text));
}

bool KernelCollector::HandleTopLevelDecl(DeclGroupRef group) {
  for (Decl *declaration : group)
    visit(declaration);
  return true;
}

void KernelCollector::visit(Decl *declaration) {
  if (auto *function = dyn_cast<FunctionDecl>(declaration)) {
    collect(function);
  } else if (const auto *variable = dyn_cast<VarDecl>(declaration)) {
    check_program_variable(variable);
  } else if (isa<NamespaceDecl, LinkageSpecDecl, CXXRecordDecl>(declaration)) {
    for (Decl *inner : cast<DeclContext>(declaration)->decls())
      visit(inner);
  }
}

void KernelCollector::check_program_variable(const VarDecl *variable) {
  if (variable->isStaticDataMember() || variable->isInvalidDecl() || variable->getType()->isDependentType())
    return;
  const QualType type = variable->getType();
  if (!type.isConstQualified() && !type->isReferenceType())
    error(variable->getLocation(), "program scope variable must reside in constant address space");
}

void KernelCollector::collect(FunctionDecl *function) {
  if (function->isInvalidDecl() || function->isDependentContext() || !function->doesThisDeclarationHaveABody() ||
      !annotation(function, "air.kernel") || !seen.insert(function).second)
    return;
  check_attributes(diagnostics, function);
  ASTContext &context = function->getASTContext();
  Kernel kernel;
  kernel.declaration = function;
  kernel.host_name = function->getNameAsString();
  if (const auto *attribute = annotation(function, "air.host_name"))
    kernel.host_name = string_argument(attribute).value_or(kernel.host_name);
  if (const auto *attribute = annotation(function, "air.max_total_threads_per_threadgroup"))
    kernel.threads_per_threadgroup_max = unsigned(integer_argument(context, attribute).value_or(0));
  if (!function->getReturnType()->isVoidType())
    error(function->getLocation(), "invalid return type %0 for kernel function") << function->getReturnType();
  if (!host_names.insert(kernel.host_name).second)
    error(place_of(function), "redefinition of kernel '%0'") << kernel.host_name;

  std::vector<bool> has_index;
  for (ParmVarDecl *declaration : function->parameters()) {
    KernelParameter parameter;
    bool parameter_has_index = false;
    collect_parameter(context, declaration, parameter, parameter_has_index);
    kernel.parameters.push_back(std::move(parameter));
    has_index.push_back(parameter_has_index);
  }
  assign_indices(function, kernel.parameters, has_index);

  // Annotations that reach code generation would become calls of llvm.var.annotation.
  for (ParmVarDecl *declaration : function->parameters())
    declaration->dropAttr<AnnotateAttr>();
  function->dropAttr<AnnotateAttr>();
  kernels.push_back(std::move(kernel));
}

void KernelCollector::collect_parameter(ASTContext &context, ParmVarDecl *declaration, KernelParameter &parameter,
                                        bool &has_index) {
  parameter.name = declaration->getNameAsString();
  for (const auto *attribute : declaration->specific_attrs<AnnotateAttr>()) {
    StringRef name = attribute->getAnnotation();
    if (!name.consume_front("air."))
      continue;
    if (name == "buffer" || name == "threadgroup" || name == "texture" || name == "sampler") {
      const unsigned limit =
          name == "texture" ? kTextureCountMax : name == "sampler" ? kSamplerCountMax : buffer_count_max;
      if (const auto index = integer_argument(context, attribute)) {
        if (*index < 0 || *index >= int64_t(limit))
          error(declaration->getLocation(), "'%0' attribute parameter is out of bounds: must be between 0 and %1")
              << name << limit - 1;
        else
          parameter.index = unsigned(*index);
        has_index = true;
      }
    } else if (name == "function_constant") {
      parameter.gate = variable_argument(attribute);
    } else if (builtins.contains(name)) {
      parameter.builtin = name.str();
    }
  }
  const QualType type = declaration->getType();
  if (type->isReferenceType()) {
    parameter.is_reference = true;
    collect_buffer(context, declaration, type.getNonReferenceType(), parameter);
  } else if (type->isPointerType()) {
    collect_buffer(context, declaration, type->getPointeeType(), parameter);
  } else if (!collect_handle(declaration, parameter)) {
    collect_builtin(declaration, parameter);
  }
}

void KernelCollector::collect_buffer(ASTContext &context, ParmVarDecl *declaration, QualType pointee,
                                     KernelParameter &parameter) {
  const PrintingPolicy policy = printing_policy(context);
  parameter.type_name = type_name(pointee, policy);
  parameter.address_space = context.getTargetAddressSpace(pointee.getAddressSpace());
  parameter.is_read_only = pointee.isConstQualified();
  const bool is_texture = annotation(declaration, "air.texture");
  if (!parameter.builtin.empty())
    error(declaration->getLocation(), "type %0 is not valid for attribute '%1'")
        << declaration->getType() << parameter.builtin;
  else if (is_texture || annotation(declaration, "air.sampler"))
    error(declaration->getLocation(), "invalid type %0 for %1 declaration")
        << declaration->getType() << (is_texture ? "texture" : "sampler");
  else if (parameter.address_space == kThread && parameter.is_reference)
    error(declaration->getLocation(), "reference type must have explicit address space qualifier");
  else if (parameter.address_space == kThread)
    error(declaration->getLocation(), "pointer type must have explicit address space qualifier");
  else if (parameter.address_space == kThreadgroup)
    parameter.kind = KernelParameter::Kind::ThreadgroupMemory;
  else if (contains_pointer(pointee))
    parameter.kind = KernelParameter::Kind::IndirectBuffer;
  else
    parameter.kind = KernelParameter::Kind::Buffer;
  if (!pointee->isVoidType() && !pointee->isIncompleteType()) {
    parameter.size_bytes = uint64_t(context.getTypeSizeInChars(pointee).getQuantity());
    parameter.align_bytes = uint64_t(context.getTypeAlignInChars(pointee).getQuantity());
  }
}

// Textures, samplers and arrays of them.
bool KernelCollector::collect_handle(ParmVarDecl *declaration, KernelParameter &parameter) {
  QualType type = declaration->getType().getCanonicalType();
  if (const auto *array = library_template(type); array && array->getName() == "array") {
    const auto &arguments = array->getTemplateArgs();
    const QualType element = arguments[0].getAsType().getCanonicalType();
    const auto *handle = library_template(element);
    const uint64_t count = arguments[1].getAsIntegral().getZExtValue();
    if (count == 0 || (!is_sampler(element) && (!handle || !texture_access(handle))))
      return false;
    parameter.is_array = true;
    // More than any table has is refused when indices are assigned.
    parameter.index_count = unsigned(std::min<uint64_t>(count, kTextureCountMax + 1));
    type = element;
  }
  const auto *texture = library_template(type);
  const char *access = texture ? texture_access(texture) : nullptr;
  if (!access && !is_sampler(type))
    return false;
  parameter.kind = access ? KernelParameter::Kind::Texture : KernelParameter::Kind::Sampler;
  parameter.access = access ? access : "";
  parameter.type_name = type_name(declaration->getType(), printing_policy(declaration->getASTContext()));
  if (!parameter.builtin.empty())
    error(declaration->getLocation(), "type %0 is not valid for attribute '%1'")
        << declaration->getType() << parameter.builtin;
  for (const char *other : {"buffer", "threadgroup", access ? "sampler" : "texture"})
    if (annotation(declaration, (StringRef("air.") + other).str()))
      error(declaration->getLocation(), "invalid type %0 for %1 declaration") << declaration->getType() << other;
  return true;
}

void KernelCollector::collect_builtin(ParmVarDecl *declaration, KernelParameter &parameter) {
  const ASTContext &context = declaration->getASTContext();
  parameter.kind = KernelParameter::Kind::Builtin;
  parameter.type_name = type_name(declaration->getType(), printing_policy(context));
  if (annotation(declaration, "air.buffer") || annotation(declaration, "air.threadgroup"))
    error(declaration->getLocation(), "invalid type %0 for buffer declaration") << declaration->getType();
  else if (annotation(declaration, "air.texture"))
    error(declaration->getLocation(), "invalid type %0 for texture declaration") << declaration->getType();
  else if (annotation(declaration, "air.sampler"))
    error(declaration->getLocation(), "invalid type %0 for sampler declaration") << declaration->getType();
  else if (parameter.builtin.empty())
    error(declaration->getLocation(), "invalid type %0 for input declaration in a kernel function")
        << declaration->getType();
  else if (!is_position_type(declaration->getType()))
    error(declaration->getLocation(), "type %0 is not valid for attribute '%1'")
        << declaration->getType() << parameter.builtin;
}

// Buffers, threadgroup memory, textures and samplers have a table each; parameters without an index take the lowest free ones
// in order.
void KernelCollector::assign_indices(const FunctionDecl *function, std::vector<KernelParameter> &parameters,
                                     const std::vector<bool> &has_index) {
  using Kind = KernelParameter::Kind;
  std::vector<bool> buffers(buffer_count_max), threadgroups(buffer_count_max), textures(kTextureCountMax),
      samplers(kSamplerCountMax);
  const auto table = [&](Kind kind) -> std::pair<std::vector<bool> &, const char *> {
    switch (kind) {
    case Kind::ThreadgroupMemory:
      return {threadgroups, "threadgroup"};
    case Kind::Texture:
      return {textures, "texture"};
    case Kind::Sampler:
      return {samplers, "sampler"};
    case Kind::Buffer:
    case Kind::IndirectBuffer:
    case Kind::Builtin:
      break;
    }
    return {buffers, "buffer"};
  };
  for (size_t i = 0; i < parameters.size(); ++i) {
    const KernelParameter &parameter = parameters[i];
    if (parameter.kind == Kind::Builtin || !has_index[i])
      continue;
    auto [taken, label] = table(parameter.kind);
    const SourceLocation location = function->getParamDecl(unsigned(i))->getLocation();
    for (unsigned index = parameter.index; index < parameter.index + parameter.index_count; ++index) {
      if (index >= taken.size()) {
        error(location, "'%0' attribute parameter is out of bounds: must be between 0 and %1")
            << label << unsigned(taken.size() - 1);
        return;
      }
      // At most one of the gated parameters at one place may exist, which is known when the kernel is specialized.
      if (taken[index] && !parameter.gate)
        error(location, "cannot reserve '%0' resource location at index %1") << label << index;
      taken[index] = true;
    }
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    KernelParameter &parameter = parameters[i];
    if (parameter.kind == Kind::Builtin || has_index[i])
      continue;
    auto [taken, label] = table(parameter.kind);
    const auto is_taken = [&taken = taken](unsigned first, unsigned count) {
      return std::any_of(taken.begin() + first, taken.begin() + first + count, [](bool used) { return used; });
    };
    const unsigned count = parameter.index_count;
    unsigned index = 0;
    while (index + count <= taken.size() && is_taken(index, count))
      ++index;
    if (index + count > taken.size()) {
      error(function->getParamDecl(unsigned(i))->getLocation(), "no '%0' resource location is left for %1")
          << label << parameter.name;
      return;
    }
    std::fill_n(taken.begin() + index, count, true);
    parameter.index = index;
  }
}

} // namespace openmps
