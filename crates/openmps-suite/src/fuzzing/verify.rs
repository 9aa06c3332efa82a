//! The verifier of AIR on modules that are valid for LLVM, from any LLVM IR text, and on damaged bitcode.
//!
//! Text comes first, since LLVM's reader of text survives nearly everything: what it accepts goes through bitcode to
//! [`openmps_air::verify_and_reflect`], as a front end's module does. A module that is accepted is accepted again, with the
//! same kernels. LLVM may die of damaged bitcode (its reader trusts much of what it reads), which is why verification runs in
//! the compiler process: [`run_bitcode`] is for a process of its own, where such a death is expected and a panic is not.

use openmps_air::verify_and_reflect;
use openmps_llvm::Context;

/// Words of AIR that random bytes do not find.
pub const WORDS: &[&[u8]] = &[
    b"!air.kernel = !{!0}\n",
    b"!\"air.buffer\", ",
    b"!\"air.location_index\", i32 0, i32 1, ",
    b"!\"air.thread_position_in_grid\"",
    b"ptr addrspace(1) ",
    b"ptr addrspace(3) ",
    b"i32 4294967295",
    b"<64 x float>",
    b"[1073741824 x i64]",
    b"alloca ",
    b"alloca i8, i64 %n\n",
    b"call void @k(",
    b"call float @air.fast_exp.f32(float 1.0)\n",
    b"unreachable\n",
    b"asm \"\", \"\"",
    b"musttail ",
    b"i129",
    b"x86_fp80",
    b"thread_local ",
    b"internal ",
    b"zeroinitializer",
    b"br label %entry\n",
    b"null",
];

/// Verifies the module that `input` describes as text.
///
/// # Panics
/// When a module is accepted once and not again.
pub fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let context = Context::new();
    let Ok(module) = context.parse_ir(&text) else { return };
    if module.verify().is_err() {
        return;
    }
    run_bitcode(module.write_bitcode().as_bytes());
}

/// Verifies `bitcode`; LLVM may abort the process.
///
/// # Panics
/// When a module is accepted once and not again.
pub fn run_bitcode(bitcode: &[u8]) {
    match verify_and_reflect(bitcode) {
        Err(error) => assert!(!error.to_string().is_empty(), "a refusal without a text"),
        Ok((air, kernels)) => {
            let (_, again) = verify_and_reflect(air.bitcode()).expect("an accepted module is accepted again");
            assert_eq!(kernels, again);
        }
    }
}
