#include "diagnostics.h"

#include <clang/Basic/DiagnosticOptions.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>
#include <llvm/ADT/SmallString.h>

using namespace clang;

namespace openmps {
namespace {

uint32_t severity_of(DiagnosticsEngine::Level level) {
  switch (level) {
  case DiagnosticsEngine::Ignored:
  case DiagnosticsEngine::Note:
  case DiagnosticsEngine::Remark:
    return OPENMPS_NOTE;
  case DiagnosticsEngine::Warning:
    return OPENMPS_WARNING;
  case DiagnosticsEngine::Error:
  case DiagnosticsEngine::Fatal:
    return OPENMPS_ERROR;
  }
  return OPENMPS_ERROR;
}

// clang's renderer walks macro expansions and template backtraces; this one keeps what it would print.
class Renderer : public DiagnosticNoteRenderer {
public:
  Renderer(const LangOptions &language, DiagnosticOptions &options, DiagnosticList &list)
      : DiagnosticNoteRenderer(language, options), list(list) {}

protected:
  void emitDiagnosticMessage(FullSourceLoc location, PresumedLoc presumed, DiagnosticsEngine::Level level,
                             StringRef message, ArrayRef<CharSourceRange>, DiagOrStoredDiag) override {
    append(location, presumed, severity_of(level), message);
  }

  void emitDiagnosticLoc(FullSourceLoc, PresumedLoc, DiagnosticsEngine::Level, ArrayRef<CharSourceRange>) override {}

  void emitCodeContext(FullSourceLoc location, DiagnosticsEngine::Level, SmallVectorImpl<CharSourceRange> &ranges,
                       ArrayRef<FixItHint>) override {
    if (list.empty() || location.isInvalid())
      return;
    for (const CharSourceRange &range : ranges)
      append_range(location, range);
  }

  // "In file included from" lines: the only includes are the library's own headers.
  void emitIncludeLocation(FullSourceLoc, PresumedLoc) override {}

  void emitNote(FullSourceLoc location, StringRef message) override {
    append(location, location.isValid() ? location.getPresumedLoc() : PresumedLoc(), OPENMPS_NOTE, message);
  }

private:
  void append(FullSourceLoc location, PresumedLoc presumed, uint32_t severity, StringRef message) {
    RecordedDiagnostic diagnostic;
    diagnostic.severity = severity;
    diagnostic.message = message.str();
    if (location.isValid() && presumed.isValid()) {
      diagnostic.file = presumed.getFilename();
      diagnostic.line = presumed.getLine();
      diagnostic.column = presumed.getColumn();
      diagnostic.in_system_header = location.getManager().isInSystemHeader(location);
    }
    list.push_back(std::move(diagnostic));
  }

  void append_range(FullSourceLoc location, const CharSourceRange &range) {
    const SourceManager &sources = location.getManager();
    if (range.isInvalid() || range.getBegin().isMacroID() || range.getEnd().isMacroID())
      return;
    SourceLocation end = range.getEnd();
    if (range.isTokenRange())
      end = end.getLocWithOffset(Lexer::MeasureTokenLength(end, sources, LangOpts));
    const auto file = sources.getFileID(location);
    if (sources.getFileID(range.getBegin()) != file || sources.getFileID(end) != file)
      return;
    const unsigned line = sources.getSpellingLineNumber(location);
    const unsigned first_line = sources.getSpellingLineNumber(range.getBegin());
    const unsigned last_line = sources.getSpellingLineNumber(end);
    if (first_line > line || last_line < line)
      return;
    OpenmpsColumns columns{1, UINT32_MAX};
    if (first_line == line)
      columns.begin = sources.getSpellingColumnNumber(range.getBegin());
    if (last_line == line)
      columns.end = sources.getSpellingColumnNumber(end);
    list.back().ranges.push_back(columns);
  }

  DiagnosticList &list;
};

} // namespace

void DiagnosticRecorder::BeginSourceFile(const LangOptions &options, const Preprocessor *) {
  renderer = std::make_unique<Renderer>(options, rendering_options, list);
}

void DiagnosticRecorder::EndSourceFile() { renderer.reset(); }

void DiagnosticRecorder::HandleDiagnostic(DiagnosticsEngine::Level level, const Diagnostic &info) {
  DiagnosticConsumer::HandleDiagnostic(level, info);
  if (level == DiagnosticsEngine::Ignored || level == DiagnosticsEngine::Remark)
    return;
  llvm::SmallString<128> message;
  info.FormatDiagnostic(message);
  if (renderer && info.hasSourceManager() && info.getLocation().isValid()) {
    renderer->emitDiagnostic(FullSourceLoc(info.getLocation(), info.getSourceManager()), level, message,
                             info.getRanges(), info.getFixItHints(), &info);
    return;
  }
  RecordedDiagnostic diagnostic;
  diagnostic.severity = severity_of(level);
  diagnostic.message = message.str().str();
  list.push_back(std::move(diagnostic));
}

} // namespace openmps
