// Refuses what C++17 has and Metal has not, where the user wrote it: clang compiles most of it for a SYCL device.
#ifndef OPENMPS_RESTRICTIONS_H
#define OPENMPS_RESTRICTIONS_H

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/Basic/Diagnostic.h>
#include <llvm/ADT/MapVector.h>

#include <string>
#include <vector>

namespace openmps {

// A function that is declared and used, but that this translation unit does not define. Wrong only if code of a kernel
// calls it, which the generated module tells.
struct UndefinedFunction {
  std::string mangled_name;
  std::string name;
  std::string file;
  unsigned line = 0;
  unsigned column = 0;
};

class RestrictionChecker : public clang::ASTConsumer {
public:
  RestrictionChecker(clang::DiagnosticsEngine &diagnostics, std::vector<UndefinedFunction> &undefined)
      : diagnostics(diagnostics), undefined(undefined) {}

  bool HandleTopLevelDecl(clang::DeclGroupRef group) override;
  void HandleTranslationUnit(clang::ASTContext &context) override;

private:
  clang::DiagnosticsEngine &diagnostics;
  std::vector<UndefinedFunction> &undefined;
  // Functions that something names, each with the first place that does.
  llvm::MapVector<const clang::FunctionDecl *, clang::SourceLocation> named;
};

} // namespace openmps
#endif
