//! Untrusted bitcode to [`VerifiedAir`]: everything that reads AIR later relies on what is checked here.
//!
//! Guarantees: the module obeys LLVM's rules; it has no inline assembly, exceptions, indirect jumps or calls, recursion,
//! aliases, thread-local or external variables; what it declares is in the table of intrinsics with the right signature, or
//! one of LLVM's pure intrinsics; sizes are within [`limits`](crate::limits); `!air.kernel` describes functions that are
//! defined, return nothing and take what it says.
//!
//! Where functions call each other recursively, they are copied to a fixed depth first, and constructors that depend on no
//! function constant are run; the verified bytes are those of the changed module then, and otherwise the ones given.
//!
//! Left out: memory safety. A kernel may read and write any address, as on a GPU. LLVM may still abort on malformed bitcode,
//! so this runs in the compiler process.

mod declarations;
mod globals;
mod instructions;
mod recursion;
#[cfg(test)]
mod tests;
mod unroll;

use openmps_engine::{KernelSignature, VerifiedAir};
use openmps_llvm::{Context, Module};

use crate::error::Error;
use crate::{constructors, limits, reflect};

/// The one function that verified modules may declare beside AIR's and LLVM's: `void ()`, called where recursion is deeper than
/// [`limits::RECURSION_DEPTH`]. It ends the dispatch with an error, at the latest when the thread returns.
pub const RECURSION_TRAP: &str = "openmps_trap";

/// Checks `bitcode` and wraps it.
///
/// # Errors
/// The first thing that is not as AIR should be, with its place.
pub fn verify(bitcode: &[u8]) -> Result<VerifiedAir, Error> {
    verify_and_reflect(bitcode).map(|(air, _)| air)
}

/// [`verify`], and the signatures of the module's kernels sorted by name, reading the module once.
///
/// # Errors
/// The first thing that is not as AIR should be, with its place.
pub fn verify_and_reflect(bitcode: &[u8]) -> Result<(VerifiedAir, Vec<KernelSignature>), Error> {
    check_bytes(bitcode)?;
    let context = Context::new();
    let mut module = context.parse_bitcode(bitcode)?;
    module.verify()?;
    check_module(&module)?;
    let mut is_changed = unroll_recursion(&module)?;
    is_changed |= run_constructors(&mut module)?;
    if is_changed {
        module.verify()?;
        check_module(&module)?;
    }
    let kernels = reflect::signatures(&module)?;
    let air = if is_changed {
        VerifiedAir::from_verifier(module.write_bitcode().as_bytes())
    } else {
        VerifiedAir::from_verifier(bitcode)
    };
    Ok((air, kernels))
}

/// Runs the constructors that depend on no function constant, and says whether there was one.
fn run_constructors(module: &mut Module<'_>) -> Result<bool, Error> {
    let (before, has_constants) = {
        let list = constructors::list(module)?;
        constructors::check_size(&list)?;
        (list.len(), !reflect::constants::declared(module)?.is_empty())
    };
    let left = if before == 0 { 0 } else { module.fold_constructors() };
    if left > 0 && !has_constants {
        let what = "a constructor computes what depends on no function constant, yet cannot run at compile time";
        return Err(Error::Module { what: what.to_owned() });
    }
    Ok(left < before)
}

/// Unrolls every recursive group and says whether there was one.
fn unroll_recursion(module: &Module<'_>) -> Result<bool, Error> {
    for group in 0..limits::RECURSIVE_GROUPS_MAX {
        match recursion::find(module)? {
            None => return Ok(group > 0),
            Some(cycle) if unroll::run(module, &cycle) => {}
            Some(cycle) => return Err(cycle.error()),
        }
    }
    let (given, limit) = (limits::RECURSIVE_GROUPS_MAX as u64 + 1, limits::RECURSIVE_GROUPS_MAX as u64);
    Err(Error::TooLarge { what: "groups of recursive functions".to_owned(), given, limit })
}

fn check_bytes(bitcode: &[u8]) -> Result<(), Error> {
    const MAGIC: &[u8] = &[0x42, 0x43, 0xc0, 0xde];
    const WRAPPER_MAGIC: &[u8] = &[0xde, 0xc0, 0x17, 0x0b];
    if !bitcode.starts_with(MAGIC) && !bitcode.starts_with(WRAPPER_MAGIC) {
        let start: Vec<String> = bitcode.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        return Err(Error::Magic(if start.is_empty() { "nothing".to_owned() } else { start.join(" ") }));
    }
    check_size("bitcode in bytes", bitcode.len(), limits::BITCODE_BYTES_MAX)
}

fn check_size(what: &str, given: usize, limit: usize) -> Result<(), Error> {
    if given <= limit {
        return Ok(());
    }
    Err(Error::TooLarge { what: what.to_owned(), given: given as u64, limit: limit as u64 })
}

fn check_module(module: &Module<'_>) -> Result<(), Error> {
    let functions = module.functions();
    check_size("functions of the module", functions.len(), limits::FUNCTIONS_MAX)?;
    globals::check(module)?;
    let mut instructions = 0;
    for function in functions {
        if function.is_declaration() {
            declarations::check(function)?;
        } else {
            instructions += instructions::check(module, function)?;
            check_size("instructions of the module", instructions, limits::INSTRUCTIONS_MAX)?;
        }
    }
    Ok(())
}
