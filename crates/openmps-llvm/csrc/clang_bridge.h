// The C interface of the clang bridge: one source text in, AIR bitcode or diagnostics out.
//
// Why C++ at all: clang as a library has no C interface that parses, visits the AST while it arrives and generates LLVM IR
// (libclang stops at the AST). Everything that does not need clang's or LLVM's C++ interface lives in Rust.
//
// Ownership: a request borrows everything; a result owns everything that its accessors return, until disposed.
// Threads: calls are independent of each other; a result may be used from any one thread at a time.
#ifndef OPENMPS_CLANG_BRIDGE_H
#define OPENMPS_CLANG_BRIDGE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Bytes, not terminated by zero.
typedef struct OpenmpsText {
  const char *data;
  size_t size;
} OpenmpsText;

typedef struct OpenmpsClangRequest {
  // The translation unit, and the name that diagnostics give it.
  OpenmpsText source;
  OpenmpsText source_name;
  // Arguments of `clang -cc1`, without an input file.
  const OpenmpsText *arguments;
  size_t argument_count;
  // Where to write a precompiled header; empty to generate AIR.
  OpenmpsText pch_output;
  // What the AIR module says about itself.
  OpenmpsText triple;
  OpenmpsText data_layout;
  uint32_t air_version[3];
  uint32_t language_version[3];
  const OpenmpsText *compile_options;
  size_t compile_option_count;
  // Names of built-in kernel arguments (`thread_position_in_grid`, …).
  const OpenmpsText *builtins;
  size_t builtin_count;
  // Buffer indices are below this.
  uint32_t buffer_count_max;
} OpenmpsClangRequest;

enum { OPENMPS_NOTE = 0, OPENMPS_WARNING = 1, OPENMPS_ERROR = 2 };

// Part of the diagnostic's own line: columns from 1, the end one past the last byte.
typedef struct OpenmpsColumns {
  uint32_t begin;
  uint32_t end;
} OpenmpsColumns;

typedef struct OpenmpsDiagnostic {
  uint32_t severity;
  // 0 where the message has no place.
  uint32_t line;
  uint32_t column;
  // 1 when the place is inside a system header, which are the library's own.
  uint32_t in_system_header;
  OpenmpsText file;
  OpenmpsText message;
  const OpenmpsColumns *ranges;
  size_t range_count;
} OpenmpsDiagnostic;

enum { OPENMPS_CLANG_OK = 0, OPENMPS_CLANG_REJECTED = 1, OPENMPS_CLANG_CRASHED = 2 };

typedef struct OpenmpsClangResult OpenmpsClangResult;

OpenmpsClangResult *openmps_clang_compile(const OpenmpsClangRequest *request);
uint32_t openmps_clang_status(const OpenmpsClangResult *result);
// Empty unless the status is OK and no precompiled header was asked for.
OpenmpsText openmps_clang_bitcode(const OpenmpsClangResult *result);
size_t openmps_clang_diagnostic_count(const OpenmpsClangResult *result);
OpenmpsDiagnostic openmps_clang_diagnostic(const OpenmpsClangResult *result, size_t index);
void openmps_clang_dispose(OpenmpsClangResult *result);
// The version of the clang library, for cache keys. Static storage.
OpenmpsText openmps_clang_version(void);

#ifdef __cplusplus
}
#endif
#endif
