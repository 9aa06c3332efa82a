//! The contract between the openmps runtime and what executes kernels: plain data and traits.
//!
//! A front end turns source into [`CompiledSource`]: AIR bitcode plus one [`KernelSignature`] a kernel. An [`Engine`] turns
//! one kernel of it into a [`CompiledKernel`], and the runtime dispatches that with [`Bindings`] over a [`Grid`].
//! This crate knows neither LLVM nor what the AIR bytes mean, so allocator, stream and event tests run without a compiler.
//!
//! Dependencies: `blake3` names AIR by its content (caches, captures), `serde` lets these types cross to the compiler
//! process and the disk cache, `thiserror` writes the error texts.
#![forbid(unsafe_code)]

pub mod air;
pub mod bindings;
pub mod coefficients;
pub mod constants;
pub mod counting;
pub mod engine;
pub mod error;
pub mod frontend;
pub mod grid;
pub mod recording;
pub mod signature;
pub mod texture;

pub use air::{AirHash, AirLoader, LoadedAir, VerifiedAir};
pub use bindings::{Binding, Bindings, BufferIndex, SamplerIndex, TextureIndex};
pub use constants::{ConstantScalar, ConstantType, ConstantValue, ConstantValues, FunctionConstant};
pub use counting::{CountingAir, LineWork};
pub use engine::{CompiledKernel, Completion, Engine, EngineChoice, EngineOptions, KernelProperties, SimdgroupRows};
pub use error::{CompileError, Diagnostic, DispatchError, EngineError, Severity};
pub use frontend::{CompileOptions, CompiledSource, LanguageVersion, MathMode, PrecompiledLibrary, SourceCompiler};
pub use grid::Grid;
pub use signature::{
    AddressSpace, Argument, ArgumentKind, BufferAccess, Builtin, BuiltinType, KernelSignature, Presence, Scalar,
};
pub use texture::{
    AddressMode, BorderColor, CompareFunction, MinMagFilter, MipFilter, PixelFormat, SamplerState, TextureAccess,
    TextureComponent, TextureLevel, TextureType, TextureUsage, TextureView,
};
