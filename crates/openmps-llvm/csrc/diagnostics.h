// Collects clang's diagnostics as data, with macro notes already in place.
#ifndef OPENMPS_DIAGNOSTICS_H
#define OPENMPS_DIAGNOSTICS_H

#include "clang_bridge.h"

#include <clang/Basic/Diagnostic.h>
#include <clang/Frontend/DiagnosticRenderer.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace openmps {

struct RecordedDiagnostic {
  uint32_t severity = OPENMPS_ERROR;
  uint32_t line = 0;
  uint32_t column = 0;
  bool in_system_header = false;
  std::string file;
  std::string message;
  std::vector<OpenmpsColumns> ranges;
};

using DiagnosticList = std::deque<RecordedDiagnostic>;

// Appends to a list that must outlive it.
class DiagnosticRecorder : public clang::DiagnosticConsumer {
public:
  explicit DiagnosticRecorder(DiagnosticList &list) : list(list) {}

  void BeginSourceFile(const clang::LangOptions &options, const clang::Preprocessor *) override;
  void EndSourceFile() override;
  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic &info) override;

private:
  DiagnosticList &list;
  clang::DiagnosticOptions rendering_options;
  std::unique_ptr<clang::DiagnosticNoteRenderer> renderer;
};

} // namespace openmps
#endif
