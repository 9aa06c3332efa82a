//! Module-level assembly, aliases and global variables.

use std::collections::HashSet;

use openmps_engine::AddressSpace;
use openmps_llvm::{Global, Module};

use crate::error::Error;
use crate::reflect::constants::declared;
use crate::{constructors, limits};

/// Lists for LLVM itself; they are in no program.
const KEPT_BY_LLVM: [&str; 2] = ["llvm.used", "llvm.compiler.used"];
/// Functions to run before the program; see [`constructors`](crate::constructors).
const CONSTRUCTORS: &str = "llvm.global_ctors";
/// Functions to run after the program.
const DESTRUCTORS: &str = "llvm.global_dtors";

pub(super) fn check(module: &Module<'_>) -> Result<(), Error> {
    let refuse = |what: &str| Err(Error::Module { what: what.to_owned() });
    if !module.inline_asm().is_empty() {
        return refuse("inline assembly");
    }
    if let Some(alias) = module.aliases().first() {
        return refuse(&format!("'{}' is an alias", alias.name()));
    }
    if let Some(ifunc) = module.ifuncs().first() {
        return refuse(&format!("'{}' is an indirect function", ifunc.name()));
    }
    let constants: HashSet<Global<'_>> = declared(module)?.into_iter().map(|declared| declared.global).collect();
    module.globals().into_iter().try_for_each(|global| check_global(module, global, &constants))
}

fn check_global<'m>(module: &'m Module<'_>, global: Global<'m>, constants: &HashSet<Global<'m>>) -> Result<(), Error> {
    let name = global.name();
    if KEPT_BY_LLVM.contains(&name.as_str()) {
        return Ok(());
    }
    let refuse = |what: String| Err(Error::Global { name: name.clone(), what });
    if name == CONSTRUCTORS {
        return constructors::list(module).map(drop);
    }
    if name == DESTRUCTORS {
        return refuse("nothing runs after a kernel".to_owned());
    }
    if global.is_externally_initialized() && !constants.contains(&global) {
        return refuse("externally initialized, but no function constant".to_owned());
    }
    if global.is_thread_local() {
        return refuse("thread-local variables do not exist in AIR".to_owned());
    }
    let Some(initializer) = global.initializer() else {
        return refuse("declared, but nothing defines it".to_owned());
    };
    // The discriminants of address spaces are AIR's numbers.
    let space = global.address_space();
    let threadgroup = AddressSpace::Threadgroup as u32;
    if space == AddressSpace::Device as u32 || space > threadgroup {
        return refuse(format!("variables live in address spaces 0, 2 and 3, not {space}"));
    }
    if space == threadgroup && !initializer.is_undef() && !initializer.is_zero() {
        return refuse("threadgroup variables have no initial value".to_owned());
    }
    let size_bytes = module.size_bytes(global.value_type());
    if size_bytes > limits::GLOBAL_BYTES_MAX {
        let what = format!("global '{name}' in bytes");
        return Err(Error::TooLarge { what, given: size_bytes, limit: limits::GLOBAL_BYTES_MAX });
    }
    Ok(())
}
