#include "restrictions.h"

#include <clang/AST/Attr.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/DynamicRecursiveASTVisitor.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/Mangle.h>
#include <clang/AST/StmtCXX.h>
#include <clang/AST/TypeLoc.h>
#include <clang/Basic/SourceManager.h>

using namespace clang;

namespace openmps {
namespace {

// What `openmps-air` admits (its `limits.rs` says why): a global object, and the stack of a function.
constexpr int64_t kGlobalBytesMax = 64 << 20;
constexpr int64_t kLocalBytesMax = 1 << 20;

bool is_threadgroup(QualType type) {
  const LangAS space = type.getAddressSpace();
  return space == LangAS::opencl_local || space == LangAS::sycl_local;
}

// Templates are visited as they are written, not as they are instantiated: the place is the same, and the message once.
class Visitor : public DynamicRecursiveASTVisitor {
public:
  Visitor(DiagnosticsEngine &diagnostics, llvm::MapVector<const FunctionDecl *, SourceLocation> &named)
      : diagnostics(diagnostics), named(named) {}

  bool VisitBuiltinTypeLoc(BuiltinTypeLoc type) override {
    const auto kind = type.getTypePtr()->getKind();
    if (kind == BuiltinType::Double || kind == BuiltinType::LongDouble)
      refuse(type.getBeginLoc(), "'double' is not supported in Metal");
    return true;
  }

  bool VisitFloatingLiteral(FloatingLiteral *literal) override {
    // Only the suffix `l` makes one: the rewriter gives the others theirs.
    if (literal->getType()->isSpecificBuiltinType(BuiltinType::LongDouble))
      refuse(literal->getBeginLoc(), "'double' is not supported in Metal");
    return true;
  }

  bool VisitGotoStmt(GotoStmt *statement) override {
    return refuse(statement->getGotoLoc(), "'goto' is not supported in Metal");
  }
  bool VisitIndirectGotoStmt(IndirectGotoStmt *statement) override {
    return refuse(statement->getGotoLoc(), "'goto' is not supported in Metal");
  }
  bool VisitCXXThrowExpr(CXXThrowExpr *expression) override {
    return refuse(expression->getThrowLoc(), "exceptions are not supported in Metal");
  }
  bool VisitCXXTryStmt(CXXTryStmt *statement) override {
    return refuse(statement->getTryLoc(), "exceptions are not supported in Metal");
  }
  bool VisitAsmStmt(AsmStmt *statement) override {
    return refuse(statement->getAsmLoc(), "inline assembly is not supported in Metal");
  }
  bool VisitFileScopeAsmDecl(FileScopeAsmDecl *declaration) override {
    return refuse(declaration->getAsmLoc(), "inline assembly is not supported in Metal");
  }
  bool VisitCXXNewExpr(CXXNewExpr *expression) override {
    return refuse(expression->getBeginLoc(), "'new' is not supported in Metal");
  }
  bool VisitCXXDeleteExpr(CXXDeleteExpr *expression) override {
    return refuse(expression->getBeginLoc(), "'delete' is not supported in Metal");
  }
  bool VisitCXXDynamicCastExpr(CXXDynamicCastExpr *expression) override {
    return refuse(expression->getOperatorLoc(), "'dynamic_cast' is not supported in Metal");
  }
  bool VisitCXXTypeidExpr(CXXTypeidExpr *expression) override {
    return refuse(expression->getBeginLoc(), "'typeid' is not supported in Metal");
  }

  bool VisitCXXMethodDecl(CXXMethodDecl *method) override {
    if (method->isVirtualAsWritten())
      refuse(method->getLocation(), "virtual functions are not supported in Metal");
    return true;
  }

  bool VisitCXXRecordDecl(CXXRecordDecl *record) override {
    if (!record->isThisDeclarationADefinition())
      return true;
    for (const CXXBaseSpecifier &base : record->bases())
      if (base.isVirtual())
        refuse(base.getBeginLoc(), "virtual base classes are not supported in Metal");
    return true;
  }

  bool VisitVarDecl(VarDecl *variable) override {
    const QualType type = variable->getType();
    if (variable->isInvalidDecl() || type->isDependentType())
      return true;
    check_size(variable);
    if (!variable->isStaticLocal())
      return true;
    if (!is_threadgroup(type)) {
      if (!type.isConstQualified() && !type->isReferenceType())
        refuse(variable->getLocation(), "static variable must reside in constant address space");
      return true;
    }
    // A default constructor is there without a word of the user's.
    if (variable->hasInit() && variable->getInitStyle() != VarDecl::CallInit)
      refuse(variable->getLocation(), "variable in threadgroup memory cannot have an initializer");
    return true;
  }

  bool VisitDeclRefExpr(DeclRefExpr *expression) override {
    if (const auto *function = dyn_cast<FunctionDecl>(expression->getDecl()))
      named.insert({function->getCanonicalDecl(), expression->getLocation()});
    return true;
  }

private:
  void check_size(const VarDecl *variable) {
    const QualType type = variable->getType();
    if (type->isReferenceType() || type->isIncompleteType() || type->isUndeducedType())
      return;
    const int64_t size = variable->getASTContext().getTypeSizeInChars(type).getQuantity();
    const int64_t size_max = variable->hasGlobalStorage() ? kGlobalBytesMax : kLocalBytesMax;
    if (size > size_max)
      diagnostics.Report(variable->getLocation(),
                         diagnostics.getCustomDiagID(DiagnosticsEngine::Error, "variable of %0 bytes, at most %1 allowed"))
          << std::to_string(size) << std::to_string(size_max);
  }

  template <unsigned Size> bool refuse(SourceLocation location, const char (&text)[Size]) {
    diagnostics.Report(location, diagnostics.getCustomDiagID(DiagnosticsEngine::Error, text));
    return true;
  }

  DiagnosticsEngine &diagnostics;
  llvm::MapVector<const FunctionDecl *, SourceLocation> &named;
};

bool is_instantiation(const Decl *declaration) {
  if (const auto *function = dyn_cast<FunctionDecl>(declaration))
    return function->isTemplateInstantiation();
  if (const auto *variable = dyn_cast<VarDecl>(declaration))
    return variable->getTemplateSpecializationKind() != TSK_Undeclared;
  if (const auto *record = dyn_cast<ClassTemplateSpecializationDecl>(declaration))
    return record->getSpecializationKind() != TSK_ExplicitSpecialization;
  return false;
}

} // namespace

bool RestrictionChecker::HandleTopLevelDecl(DeclGroupRef group) {
  Visitor visitor(diagnostics, named);
  for (Decl *declaration : group) {
    const SourceManager &sources = declaration->getASTContext().getSourceManager();
    const bool is_users = !declaration->isFromASTFile() && !sources.isInSystemHeader(declaration->getLocation());
    if (is_users && !is_instantiation(declaration))
      visitor.TraverseDecl(declaration);
  }
  return true;
}

void RestrictionChecker::HandleTranslationUnit(ASTContext &context) {
  if (diagnostics.hasErrorOccurred())
    return;
  ASTNameGenerator names(context);
  const SourceManager &sources = context.getSourceManager();
  for (const auto &[function, place] : named) {
    const bool is_users = !sources.isInSystemHeader(function->getLocation()) && !function->getBuiltinID();
    if (!is_users || function->isDefined() || function->isDependentContext() || function->hasAttr<AsmLabelAttr>())
      continue;
    const PresumedLoc presumed = sources.getPresumedLoc(sources.getExpansionLoc(place));
    if (presumed.isValid())
      undefined.push_back({names.getName(function), function->getNameAsString(), presumed.getFilename(),
                           presumed.getLine(), presumed.getColumn()});
  }
}

} // namespace openmps
