#include "annotations.h"

#include <clang/AST/Expr.h>

using namespace clang;

namespace openmps {

std::optional<std::string> string_argument(const AnnotateAttr *attribute) {
  for (const Expr *argument : attribute->args()) {
    argument = argument->IgnoreParenImpCasts();
    if (const auto *constant = dyn_cast<ConstantExpr>(argument))
      argument = constant->getSubExpr()->IgnoreParenImpCasts();
    if (const auto *literal = dyn_cast<StringLiteral>(argument))
      return literal->getString().str();
  }
  return std::nullopt;
}

std::optional<int64_t> integer_argument(const ASTContext &context, const AnnotateAttr *attribute) {
  for (const Expr *argument : attribute->args()) {
    Expr::EvalResult result;
    if (!argument->isValueDependent() && argument->EvaluateAsInt(result, context))
      return result.Val.getInt().getExtValue();
  }
  return std::nullopt;
}

const AnnotateAttr *annotation(const Decl *declaration, StringRef name) {
  for (const auto *attribute : declaration->specific_attrs<AnnotateAttr>())
    if (attribute->getAnnotation() == name)
      return attribute;
  return nullptr;
}

} // namespace openmps
