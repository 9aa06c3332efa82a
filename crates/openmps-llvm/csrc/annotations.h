// Metal's attributes as the rewriter hands them to clang: `annotate("air.NAME", ARGUMENTS)`.
#ifndef OPENMPS_ANNOTATIONS_H
#define OPENMPS_ANNOTATIONS_H

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/Decl.h>

#include <cstdint>
#include <optional>
#include <string>

namespace openmps {

// The first argument that is a string literal.
std::optional<std::string> string_argument(const clang::AnnotateAttr *attribute);
// The first argument that is an integer constant.
std::optional<int64_t> integer_argument(const clang::ASTContext &context, const clang::AnnotateAttr *attribute);
// The annotation of this name ("air.buffer"), else null.
const clang::AnnotateAttr *annotation(const clang::Decl *declaration, llvm::StringRef name);

} // namespace openmps
#endif
