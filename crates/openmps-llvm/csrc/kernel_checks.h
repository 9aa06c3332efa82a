// Attributes of kernels and their parameters that make no sense.
#ifndef OPENMPS_KERNEL_CHECKS_H
#define OPENMPS_KERNEL_CHECKS_H

#include <clang/AST/Decl.h>
#include <clang/Basic/Diagnostic.h>

namespace openmps {

// Reports what is wrong with the attributes of a kernel, which must not depend on template parameters.
void check_attributes(clang::DiagnosticsEngine &diagnostics, const clang::FunctionDecl *kernel);

} // namespace openmps
#endif
