#include "clang_bridge.h"
#include "air_module.h"
#include "diagnostics.h"
#include "kernels.h"
#include "restrictions.h"

#include <clang/AST/GlobalDecl.h>
#include <clang/Basic/TargetInfo.h>
#include <clang/Basic/Version.h>
#include <clang/CodeGen/ModuleBuilder.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Frontend/MultiplexConsumer.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Support/raw_ostream.h>

#include <mutex>

using namespace clang;

struct OpenmpsClangResult {
  uint32_t status = OPENMPS_CLANG_CRASHED;
  llvm::SmallVector<char, 0> bitcode;
  openmps::DiagnosticList diagnostics;
};

namespace openmps {
namespace {

llvm::StringRef text(OpenmpsText text) { return llvm::StringRef(text.data, text.size); }

OpenmpsText borrowed(llvm::StringRef text) { return OpenmpsText{text.data(), text.size()}; }

// AIR's address-space numbers. The default space is AIR's thread space, so that pointers to local variables need no
// cast. In SYCL mode clang turns `opencl_global` into `sycl_global`, and puts string literals there too.
struct AirAddressSpaces {
  LangASMap map = {};
  constexpr AirAddressSpaces() {
    map[unsigned(LangAS::opencl_global)] = 1;
    map[unsigned(LangAS::opencl_global_device)] = 1;
    map[unsigned(LangAS::sycl_global)] = 1;
    map[unsigned(LangAS::sycl_global_device)] = 1;
    map[unsigned(LangAS::opencl_constant)] = 2;
    map[unsigned(LangAS::opencl_global_host)] = 2;
    map[unsigned(LangAS::sycl_global_host)] = 2;
    map[unsigned(LangAS::opencl_local)] = 3;
    map[unsigned(LangAS::sycl_local)] = 3;
  }
};

constexpr AirAddressSpaces kAirAddressSpaces;

// `TargetInfo::AddrSpaceMap` is protected and has no setter; a derived class may name it. To be called when the AST
// exists and nothing is parsed yet: what comes before adjusts the target, and with it the map.
struct TargetAccess : TargetInfo {
  static void use_air_address_spaces(TargetInfo &target) {
    target.*(&TargetAccess::AddrSpaceMap) = &kAirAddressSpaces.map;
  }
};

class GenerateHeaderAction : public GeneratePCHAction {
protected:
  std::unique_ptr<ASTConsumer> CreateASTConsumer(CompilerInstance &instance, llvm::StringRef name) override {
    TargetAccess::use_air_address_spaces(instance.getTarget());
    return GeneratePCHAction::CreateASTConsumer(instance, name);
  }
};

// Asks for the gates of parameters before code generation ends. A program-scope variable that no code mentions is left out of the
// module, and with it what computes its value.
class GateEmitter : public ASTConsumer {
public:
  GateEmitter(CodeGenerator &generator, const std::vector<Kernel> &kernels) : generator(generator), kernels(kernels) {}

  void HandleTranslationUnit(ASTContext &) override {
    for (const Kernel &kernel : kernels)
      for (const KernelParameter &parameter : kernel.parameters)
        if (parameter.gate)
          generator.GetAddrOfGlobal(GlobalDecl(parameter.gate), /*isForDefinition=*/false);
  }

private:
  CodeGenerator &generator;
  const std::vector<Kernel> &kernels;
};

class GenerateAirAction : public ASTFrontendAction {
public:
  GenerateAirAction(llvm::LLVMContext &context, const OpenmpsClangRequest &request)
      : context(context), request(request) {
    for (size_t i = 0; i < request.builtin_count; ++i)
      builtins.insert(text(request.builtins[i]));
  }

  std::unique_ptr<llvm::Module> module;
  std::vector<Kernel> kernels;
  std::vector<llvm::Function *> functions;
  std::vector<UndefinedFunction> undefined;

protected:
  std::unique_ptr<ASTConsumer> CreateASTConsumer(CompilerInstance &instance, llvm::StringRef name) override {
    TargetAccess::use_air_address_spaces(instance.getTarget());
    std::vector<std::unique_ptr<ASTConsumer>> consumers;
    consumers.push_back(std::make_unique<RestrictionChecker>(instance.getDiagnostics(), undefined));
    // Before the generator, so that it can take the annotations away before code is generated from them.
    consumers.push_back(std::make_unique<KernelCollector>(instance.getDiagnostics(), builtins,
                                                          request.buffer_count_max, kernels));
    auto generator = CreateLLVMCodeGen(instance, name, context);
    code_generator = generator.get();
    consumers.push_back(std::make_unique<GateEmitter>(*generator, kernels));
    consumers.push_back(std::move(generator));
    return std::make_unique<MultiplexConsumer>(std::move(consumers));
  }

  void EndSourceFileAction() override {
    // After an error the generator has no module to ask for.
    if (!code_generator || getCompilerInstance().getDiagnostics().hasErrorOccurred())
      return;
    for (Kernel &kernel : kernels) {
      functions.push_back(llvm::dyn_cast_or_null<llvm::Function>(
          code_generator->GetAddrOfGlobal(GlobalDecl(kernel.declaration), /*isForDefinition=*/false)));
      for (KernelParameter &parameter : kernel.parameters)
        if (parameter.gate)
          parameter.gate_variable = code_generator->GetAddrOfGlobal(GlobalDecl(parameter.gate), /*isForDefinition=*/false);
    }
    module = code_generator->ReleaseModule();
  }

private:
  llvm::LLVMContext &context;
  const OpenmpsClangRequest &request;
  llvm::StringSet<> builtins;
  CodeGenerator *code_generator = nullptr;
};

// Only the library's headers and its precompiled header: a source text is one string, and `#include "/dev/zero"` must not
// read until memory ends.
class LibraryFiles : public llvm::vfs::ProxyFileSystem {
public:
  LibraryFiles(llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files, const std::vector<const char *> &arguments)
      : ProxyFileSystem(std::move(files)) {
    for (size_t i = 0; i + 1 < arguments.size(); ++i) {
      const llvm::StringRef argument = arguments[i];
      if (argument == "-isystem" || argument == "-include-pch")
        allowed.push_back(arguments[i + 1]);
    }
  }

  llvm::ErrorOr<llvm::vfs::Status> status(const llvm::Twine &path) override {
    if (!is_allowed(path.str()) && !leads_to_allowed(path.str()))
      return std::make_error_code(std::errc::no_such_file_or_directory);
    return ProxyFileSystem::status(path);
  }

  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> openFileForRead(const llvm::Twine &path) override {
    if (!is_allowed(path.str()))
      return std::make_error_code(std::errc::no_such_file_or_directory);
    return ProxyFileSystem::openFileForRead(path);
  }

private:
  bool is_allowed(llvm::StringRef path) const {
    return llvm::any_of(allowed, [&](llvm::StringRef prefix) {
      llvm::StringRef rest = path;
      return rest.consume_front(prefix) && (rest.empty() || rest.starts_with("/")) && !rest.contains("/..");
    });
  }

  // Clang asks for a file's folder before it asks for the file.
  bool leads_to_allowed(llvm::StringRef path) const {
    return llvm::any_of(allowed, [&](llvm::StringRef name) { return name.consume_front(path) && name.starts_with("/"); });
  }

  std::vector<std::string> allowed;
};

void report(OpenmpsClangResult &result, std::string message) {
  RecordedDiagnostic diagnostic;
  diagnostic.message = std::move(message);
  result.diagnostics.push_back(std::move(diagnostic));
}

// A call of a function that nobody defines, as an error at the call. False if there is none.
bool report_undefined(const llvm::Module &module, const std::vector<UndefinedFunction> &undefined,
                      OpenmpsClangResult &result) {
  bool has_reported = false;
  for (const UndefinedFunction &function : undefined) {
    const llvm::Function *declaration = module.getFunction(function.mangled_name);
    if (!declaration || !declaration->isDeclaration())
      continue;
    report(result, "function '" + function.name + "' is declared, but nothing defines it");
    RecordedDiagnostic &diagnostic = result.diagnostics.back();
    diagnostic.file = function.file;
    diagnostic.line = function.line;
    diagnostic.column = function.column;
    has_reported = true;
  }
  return has_reported;
}

bool generate_air(CompilerInstance &instance, const OpenmpsClangRequest &request, OpenmpsClangResult &result) {
  llvm::LLVMContext context;
  GenerateAirAction action(context, request);
  if (!instance.ExecuteAction(action) || !action.module)
    return false;
  std::string message;
  if (!build_air(*action.module, action.kernels, action.functions, request, message)) {
    report(result, std::move(message));
    return false;
  }
  if (report_undefined(*action.module, action.undefined, result))
    return false;
  llvm::raw_svector_ostream stream(result.bitcode);
  llvm::WriteBitcodeToFile(*action.module, stream);
  return true;
}

bool compile(const OpenmpsClangRequest &request, OpenmpsClangResult &result) {
  std::vector<std::string> storage;
  for (size_t i = 0; i < request.argument_count; ++i)
    storage.push_back(text(request.arguments[i]).str());
  std::vector<const char *> arguments;
  for (const std::string &argument : storage)
    arguments.push_back(argument.c_str());

  auto files = llvm::makeIntrusiveRefCnt<LibraryFiles>(llvm::vfs::getRealFileSystem(), arguments);
  DiagnosticRecorder recorder(result.diagnostics);
  DiagnosticOptions argument_options;
  auto argument_diagnostics =
      CompilerInstance::createDiagnostics(*files, argument_options, &recorder, /*ShouldOwnClient=*/false);
  auto invocation = std::make_shared<CompilerInvocation>();
  if (!CompilerInvocation::CreateFromArgs(*invocation, arguments, *argument_diagnostics))
    return false;
  const auto buffer =
      llvm::MemoryBuffer::getMemBufferCopy(text(request.source), text(request.source_name));
  auto &inputs = invocation->getFrontendOpts().Inputs;
  const InputKind kind = inputs.front().getKind();
  inputs.assign(1, FrontendInputFile(buffer->getMemBufferRef(), kind));
  invocation->getFrontendOpts().OutputFile = text(request.pch_output).str();

  // Otherwise clang prints "1 error generated." to standard error.
  invocation->getDiagnosticOpts().ShowCarets = false;
  CompilerInstance instance(std::move(invocation));
  instance.setVirtualFileSystem(files);
  instance.createDiagnostics(&recorder, /*ShouldOwnClient=*/false);
  if (request.pch_output.size == 0)
    return generate_air(instance, request, result);
  GenerateHeaderAction action;
  return instance.ExecuteAction(action);
}

} // namespace
} // namespace openmps

OpenmpsClangResult *openmps_clang_compile(const OpenmpsClangRequest *request) {
  static std::once_flag enabled;
  std::call_once(enabled, [] { llvm::CrashRecoveryContext::Enable(); });
  auto *result = new OpenmpsClangResult;
  // Deep recursion of templates and expressions; untouched pages cost nothing.
  constexpr unsigned kStackBytes = 64u << 20;
  bool accepted = false;
  llvm::CrashRecoveryContext recovery;
  if (recovery.RunSafelyOnThread([&] { accepted = openmps::compile(*request, *result); }, kStackBytes))
    result->status = accepted ? OPENMPS_CLANG_OK : OPENMPS_CLANG_REJECTED;
  return result;
}

uint32_t openmps_clang_status(const OpenmpsClangResult *result) { return result->status; }

OpenmpsText openmps_clang_bitcode(const OpenmpsClangResult *result) {
  return OpenmpsText{result->bitcode.data(), result->bitcode.size()};
}

size_t openmps_clang_diagnostic_count(const OpenmpsClangResult *result) { return result->diagnostics.size(); }

OpenmpsDiagnostic openmps_clang_diagnostic(const OpenmpsClangResult *result, size_t index) {
  const openmps::RecordedDiagnostic &recorded = result->diagnostics[index];
  return OpenmpsDiagnostic{recorded.severity,
                           recorded.line,
                           recorded.column,
                           recorded.in_system_header,
                           openmps::borrowed(recorded.file),
                           openmps::borrowed(recorded.message),
                           recorded.ranges.data(),
                           recorded.ranges.size()};
}

void openmps_clang_dispose(OpenmpsClangResult *result) { delete result; }

OpenmpsText openmps_clang_version(void) { return openmps::borrowed(CLANG_VERSION_STRING); }
