#include "kernel_checks.h"
#include "annotations.h"

#include <clang/AST/DeclCXX.h>

using namespace clang;

namespace openmps {
namespace {

// Metal's limit for every device (Metal feature set tables, "maximum threads per threadgroup").
constexpr int64_t kThreadsPerThreadgroupMax = 1024;

template <unsigned Size>
DiagnosticBuilder error(DiagnosticsEngine &diagnostics, SourceLocation location, const char (&text)[Size]) {
  return diagnostics.Report(location, diagnostics.getCustomDiagID(DiagnosticsEngine::Error, text));
}

bool takes_an_index(StringRef name) {
  return name == "buffer" || name == "threadgroup" || name == "texture" || name == "sampler";
}

// Positions and sizes in the grid have up to three dimensions, indices and counts have one.
bool is_a_number(StringRef builtin) {
  for (StringRef prefix : {"thread_index_in_", "simdgroup_index_in_", "quadgroup_index_in_", "threads_per_simdgroup",
                           "thread_execution_width", "simdgroups_per_", "quadgroups_per_", "dispatch_simdgroups_per_",
                           "dispatch_quadgroups_per_"})
    if (builtin.starts_with(prefix))
      return true;
  return false;
}

void check_parameter(DiagnosticsEngine &diagnostics, const ParmVarDecl *parameter) {
  const ASTContext &context = parameter->getASTContext();
  StringRef seen;
  for (const auto *attribute : parameter->specific_attrs<AnnotateAttr>()) {
    StringRef name = attribute->getAnnotation();
    if (!name.consume_front("air."))
      continue;
    if (takes_an_index(name)) {
      if (!integer_argument(context, attribute))
        error(diagnostics, parameter->getLocation(), "'%0' attribute requires an integer constant") << name;
      if (!seen.empty())
        error(diagnostics, parameter->getLocation(), "'%0' attribute follows '%1': a parameter has one place")
            << name << seen;
      seen = name;
    } else if (is_a_number(name) && parameter->getType()->isRecordType()) {
      error(diagnostics, parameter->getLocation(), "type %0 is not valid for attribute '%1': expected a scalar")
          << parameter->getType() << name;
    }
  }
}

} // namespace

void check_attributes(DiagnosticsEngine &diagnostics, const FunctionDecl *kernel) {
  if (isa<CXXMethodDecl>(kernel))
    error(diagnostics, kernel->getLocation(), "a kernel function cannot be a member of a class");
  if (const auto *attribute = annotation(kernel, "air.host_name"))
    if (string_argument(attribute).value_or("").empty())
      error(diagnostics, kernel->getLocation(), "'host_name' attribute requires a string that is not empty");
  if (const auto *attribute = annotation(kernel, "air.max_total_threads_per_threadgroup")) {
    const int64_t count = integer_argument(kernel->getASTContext(), attribute).value_or(0);
    if (count < 1 || count > kThreadsPerThreadgroupMax)
      error(diagnostics, kernel->getLocation(),
            "'max_total_threads_per_threadgroup' attribute must be between 1 and %0")
          << int(kThreadsPerThreadgroupMax);
  }
  for (const ParmVarDecl *parameter : kernel->parameters())
    check_parameter(diagnostics, parameter);
}

} // namespace openmps
