// Finds the kernels of a translation unit in clang's AST, as declarations arrive, and checks their declarations.
//
// The rewriter turned Metal attributes into `annotate("air.NAME", ARGUMENTS)`; they are evaluated here, inside clang,
// because arguments may be any constant expression, also of template parameters.
#ifndef OPENMPS_KERNELS_H
#define OPENMPS_KERNELS_H

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/Basic/Diagnostic.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/IR/ValueHandle.h>

#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
class Constant;
}

namespace openmps {

// Metal feature set tables, "maximum entries in the texture (sampler state) argument table, per function".
constexpr unsigned kTextureCountMax = 128;
constexpr unsigned kSamplerCountMax = 16;

struct KernelParameter {
  enum class Kind { Buffer, IndirectBuffer, ThreadgroupMemory, Texture, Sampler, Builtin };
  Kind kind = Kind::Builtin;
  std::string name;
  // The pointee's type for buffers.
  std::string type_name;
  // `thread_position_in_grid` and so on; empty for buffers.
  std::string builtin;
  // In the table of the kind, the first of `index_count`.
  unsigned index = 0;
  unsigned index_count = 1;
  // A metal::array of textures or samplers; they have one index each.
  bool is_array = false;
  // Of textures, `sample` and so on.
  std::string access;
  unsigned address_space = 0;
  bool is_read_only = false;
  bool is_reference = false;
  // 0 where the pointee has no size (void).
  uint64_t size_bytes = 0;
  uint64_t align_bytes = 0;
  // The bool that decides whether the parameter exists, if one does, and its variable in the module.
  const clang::VarDecl *gate = nullptr;
  llvm::WeakTrackingVH gate_variable;
};

struct Kernel {
  const clang::FunctionDecl *declaration = nullptr;
  std::string host_name;
  // 0 where the source sets no limit.
  unsigned threads_per_threadgroup_max = 0;
  std::vector<KernelParameter> parameters;
};

class KernelCollector : public clang::ASTConsumer {
public:
  KernelCollector(clang::DiagnosticsEngine &diagnostics, const llvm::StringSet<> &builtins, unsigned buffer_count_max,
                  std::vector<Kernel> &kernels)
      : diagnostics(diagnostics), builtins(builtins), buffer_count_max(buffer_count_max), kernels(kernels) {}

  bool HandleTopLevelDecl(clang::DeclGroupRef group) override;

private:
  void visit(clang::Decl *declaration);
  void collect(clang::FunctionDecl *function);
  void check_program_variable(const clang::VarDecl *variable);
  void collect_parameter(clang::ASTContext &context, clang::ParmVarDecl *declaration, KernelParameter &parameter,
                         bool &has_index);
  void collect_buffer(clang::ASTContext &context, clang::ParmVarDecl *declaration, clang::QualType pointee,
                      KernelParameter &parameter);
  void collect_builtin(clang::ParmVarDecl *declaration, KernelParameter &parameter);
  bool collect_handle(clang::ParmVarDecl *declaration, KernelParameter &parameter);
  void assign_indices(const clang::FunctionDecl *function, std::vector<KernelParameter> &parameters,
                      const std::vector<bool> &has_index);
  template <unsigned Size> clang::DiagnosticBuilder error(clang::SourceLocation location, const char (&text)[Size]);

  clang::DiagnosticsEngine &diagnostics;
  const llvm::StringSet<> &builtins;
  unsigned buffer_count_max;
  std::vector<Kernel> &kernels;
  llvm::DenseSet<const clang::FunctionDecl *> seen;
  llvm::StringSet<> host_names;
};

} // namespace openmps
#endif
