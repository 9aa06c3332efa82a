//! Builds the clang bridge (`csrc/`) against the LLVM 22 that `llvm-config-22` names, and links `libclang-cpp`.

use std::process::Command;

const SOURCES: [&str; 14] = [
    "clang_bridge.cpp",
    "diagnostics.cpp",
    "kernels.cpp",
    "air_module.cpp",
    "constructors.cpp",
    "intrinsics.cpp",
    "function_constants.cpp",
    "instruction.cpp",
    "function.cpp",
    "memory.cpp",
    "restrictions.cpp",
    "annotations.cpp",
    "kernel_checks.cpp",
    "module.cpp",
];
const HEADERS: [&str; 10] = [
    "clang_bridge.h",
    "diagnostics.h",
    "kernels.h",
    "air_module.h",
    "intrinsics.h",
    "constructors.h",
    "function_constants.h",
    "restrictions.h",
    "annotations.h",
    "kernel_checks.h",
];

fn llvm_config(option: &str) -> String {
    let output = Command::new("llvm-config-22")
        .arg(option)
        .output()
        .unwrap_or_else(|error| panic!("llvm-config-22 (Debian package llvm-22-dev) cannot run: {error}"));
    assert!(output.status.success(), "llvm-config-22 {option} failed: {}", output.status);
    String::from_utf8(output.stdout).expect("llvm-config prints UTF-8").trim().to_owned()
}

fn main() {
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++17")
        // Clang's headers take most of the time; the bridge's own code is not hot.
        .opt_level(1)
        .debug(false)
        .flag("-fno-exceptions")
        .flag("-fno-rtti")
        .flag("-Wno-unused-parameter")
        // As a system folder, so that warnings are about our files only.
        .flag("-isystem")
        .flag(llvm_config("--includedir"));
    for source in SOURCES {
        build.file(format!("csrc/{source}"));
    }
    build.compile("openmps_clang_bridge");
    println!("cargo::rustc-link-search=native={}", llvm_config("--libdir"));
    println!("cargo::rustc-link-lib=dylib=clang-cpp");
    for file in SOURCES.iter().chain(&HEADERS) {
        println!("cargo::rerun-if-changed=csrc/{file}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
