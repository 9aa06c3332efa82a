//! Thin safe wrappers over LLVM-C and over clang as a library, shaped by the tasks of this project: read AIR, rewrite it,
//! optimise it, emit an object.
//!
//! Guarantees: every handle borrows the [`Module`] or [`Context`] that keeps it alive; every string that LLVM allocates is
//! freed by a type; diagnostics are returned, never printed. Left out: type checking of what a [`Builder`] is asked to
//! build. Operands of the wrong type make IR that [`Module::verify`] reports, or abort inside LLVM; both are bugs of the caller.
//! So is mixing handles of different contexts. LLVM also aborts on some malformed bitcode, so whoever parses untrusted bytes does it in a process that may die.
//!
//! Dependencies: `llvm-sys` declares LLVM-C, `libc` its C types, `thiserror` writes the error texts.

pub mod attribute;
pub mod block;
pub mod builder;
pub mod clang;
pub mod constant;
pub mod context;
pub mod diagnostics;
pub mod flags;
pub mod function;
pub mod global;
mod graveyard;
mod handle;
pub mod instruction;
pub mod memory;
pub mod metadata;
pub mod module;
pub mod opcode;
pub mod passes;
mod string;
pub mod target;
pub mod ty;
pub mod value;

pub use attribute::AttributePlace;
pub use block::Block;
pub use builder::Builder;
pub use context::Context;
pub use diagnostics::Error;
pub use function::{Function, Linkage};
pub use global::Global;
pub use instruction::Instruction;
pub use metadata::{Metadata, MetadataOperand};
pub use module::Module;
pub use opcode::{AtomicOp, BinaryOp, CastOp, FastMath, FloatPredicate, IntPredicate, Opcode, Ordering, PlainOp};
pub use passes::PassOptions;
pub use string::ObjectCode;
pub use target::{CodeGenLevel, TargetMachine};
pub use ty::{Type, TypeKind};
pub use value::Value;

#[cfg(test)]
mod tests;
