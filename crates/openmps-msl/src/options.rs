//! What each language version and math mode mean: clang's arguments, and what the AIR module says about itself.

use std::path::Path;

use openmps_engine::{CompileOptions, LanguageVersion, MathMode};
use openmps_llvm::clang::ModuleFacts;

use crate::limits::ERROR_COUNT_MAX;

/// The layout of every AIR module (`air.md` 2.1); x86-64 agrees with it on every type that MSL has.
const DATA_LAYOUT: &str = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32";

/// Arguments that never change, each with its reason.
const FIXED_ARGUMENTS: [&str; 43] = [
    // Raw vector arguments of `air.*` functions keep AIR's signatures, and vectors AIR's alignments.
    "-triple",
    "spir64",
    // Without a host target clang 22 crashes on mangling `__bf16` in SYCL mode.
    "-aux-triple",
    "x86_64-unknown-linux-gnu",
    // Its address-space rules are Metal's.
    "-fsycl-is-device",
    "-std=c++17",
    // `__declspec(property)` makes swizzles.
    "-fdeclspec",
    "-fms-extensions",
    // Out-of-range conversions saturate and NaN gives 0, as `air.convert` does.
    "-fno-strict-float-cast-overflow",
    "-cl-single-precision-constant",
    // Math modes of pragmas are `float_control`, which clang knows for targets with exact floating-point environments only.
    "-fexperimental-strict-floating-point",
    // Clean IR without `optnone`; optimizing is the engine's job.
    "-O2",
    "-disable-llvm-passes",
    // Kernels read the same bytes through several types.
    "-relaxed-aliasing",
    // A function named `exp` is the user's.
    "-fno-builtin",
    "-fno-threadsafe-statics",
    "-fno-rtti",
    // There is no folder but the library's.
    "-nostdsysteminc",
    "-nobuiltininc",
    "-nostdinc++",
    "-D__METAL__=1",
    "-x",
    "c++",
    // Warnings about how the rewriter and the header express Metal, and about what MSL allows.
    "-Wno-unknown-attributes",
    "-Wno-ignored-attributes",
    "-Wno-unknown-pragmas",
    "-Wno-duplicate-decl-specifier",
    "-Wno-narrowing",
    "-Wno-c++11-narrowing",
    "-Wno-keyword-macro",
    "-Wno-unused-value",
    "-Wno-unsupported-floating-point-opt",
    "-Wno-undefined-internal",
    "-Wno-undefined-inline",
    "-Wno-address-of-temporary",
    "-Wno-microsoft",
    "-Wno-overriding-option",
    "-Wno-pass-failed",
    "-Wno-c++20-extensions",
    // Clang goes on with another stack.
    "-Wno-stack-exhausted",
    // Metal has none.
    "-Werror=vla-cxx-extension",
    // Directives that crash or hang clang are for those who work on clang.
    "-disable-pragma-debug-crash",
    // `vec<[...], 2>` says less than `float2`.
    "-fno-elide-type",
];

/// Every pair for which a precompiled header is worth having.
pub const ALL: [CompileOptions; 6] = {
    const fn of(language_version: LanguageVersion, math_mode: MathMode) -> CompileOptions {
        CompileOptions { language_version, math_mode }
    }
    [
        of(LanguageVersion::Metal3_2, MathMode::Safe),
        of(LanguageVersion::Metal3_2, MathMode::Fast),
        of(LanguageVersion::Metal3_1, MathMode::Safe),
        of(LanguageVersion::Metal3_1, MathMode::Fast),
        of(LanguageVersion::Metal4_0, MathMode::Safe),
        of(LanguageVersion::Metal4_0, MathMode::Fast),
    ]
};

/// The value of `__METAL_VERSION__`.
#[must_use]
pub fn metal_version(version: LanguageVersion) -> u32 {
    match version {
        LanguageVersion::Metal3_1 => 310,
        LanguageVersion::Metal3_2 => 320,
        LanguageVersion::Metal4_0 => 400,
    }
}

/// A short name for a pair of options, for file names.
#[must_use]
pub fn name(options: &CompileOptions) -> String {
    let math = match options.math_mode {
        MathMode::Safe => "safe",
        MathMode::Fast => "fast",
    };
    format!("{}-{math}", metal_version(options.language_version))
}

/// Clang's arguments but for the precompiled header.
#[must_use]
pub fn clang_arguments(options: &CompileOptions, include_dir: &Path) -> Vec<String> {
    let mut arguments: Vec<String> = FIXED_ARGUMENTS.iter().map(|argument| (*argument).to_owned()).collect();
    arguments.push(format!("-D__METAL_VERSION__={}", metal_version(options.language_version)));
    arguments.extend(["-ferror-limit".to_owned(), ERROR_COUNT_MAX.to_string()]);
    arguments.extend(["-isystem".to_owned(), include_dir.to_string_lossy().into_owned()]);
    let math: &[&str] = match options.math_mode {
        // Apple's safe modules contain fused multiply-adds; the frontend's own default is off.
        MathMode::Safe => &["-ffp-contract=on"],
        // Not `-ffast-math`, which would let the compiler assume that there are no infinities: kernels compare with
        // `-INFINITY`.
        MathMode::Fast => &[
            "-D__FAST_MATH__=1",
            "-mreassociate",
            "-freciprocal-math",
            "-fno-signed-zeros",
            "-fapprox-func",
            "-ffp-contract=fast",
        ],
    };
    arguments.extend(math.iter().map(|argument| (*argument).to_owned()));
    arguments
}

/// What the AIR module says about itself.
#[must_use]
pub fn module_facts(options: &CompileOptions) -> ModuleFacts<'static> {
    let (triple, air_version, language_version) = match options.language_version {
        LanguageVersion::Metal3_1 => ("air64_v26-apple-macosx14.0.0", [2, 6, 0], [3, 1, 0]),
        LanguageVersion::Metal3_2 => ("air64_v27-apple-macosx15.0.0", [2, 7, 0], [3, 2, 0]),
        LanguageVersion::Metal4_0 => ("air64_v28-apple-macosx26.0.0", [2, 8, 0], [4, 0, 0]),
    };
    let compile_options: &[&str] = match options.math_mode {
        MathMode::Safe => &["air.compile.denorms_disable", "air.compile.fast_math_disable"],
        MathMode::Fast => &["air.compile.denorms_disable", "air.compile.fast_math_enable"],
    };
    ModuleFacts { triple, data_layout: DATA_LAYOUT, air_version, language_version, compile_options }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct() {
        let mut names: Vec<String> = ALL.iter().map(name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }
}
