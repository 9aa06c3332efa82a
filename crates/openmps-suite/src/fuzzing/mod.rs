//! Fuzz targets: one function a target, from bytes to nothing, that panics when a promise is broken.
//!
//! Every target accepts any bytes. What it promises stands on its file; for all of them: no crash, no hang, no memory out of
//! proportion to the input. [`TARGETS`] lists them with the words that mutations insert, [`replay`] runs one over its seeds
//! without a fuzzer. `examples/seeds.rs` makes the seeds.

pub mod allocator;
pub mod capture;
pub mod metallib;
pub mod msl_compile;
pub mod msl_rewrite;
pub mod mutation;
pub mod object;
pub mod perfetto;
pub mod protocol;
pub mod replay;
pub mod settings;
pub mod verify;

use mutation::Damage;

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Name of the target and of its folder of seeds.
    pub name: &'static str,
    /// The target.
    pub run: fn(&[u8]),
    /// How its inputs are damaged.
    pub damage: Damage,
    /// What mutations insert beside random bytes.
    pub words: &'static [&'static [u8]],
}

/// All targets, in order of their names.
pub const TARGETS: [Target; 10] = [
    Target { name: "allocator", run: allocator::run, damage: Damage::Bytes, words: &[] },
    Target { name: "capture", run: capture::run, damage: Damage::Bytes, words: &[] },
    Target { name: "metallib", run: metallib::run, damage: Damage::InPlace, words: metallib::WORDS },
    Target { name: "msl_compile", run: msl_compile::run, damage: Damage::Tokens, words: msl_compile::WORDS },
    Target { name: "msl_rewrite", run: msl_rewrite::run, damage: Damage::Tokens, words: msl_rewrite::WORDS },
    Target { name: "object", run: object::run, damage: Damage::InPlace, words: &[] },
    Target { name: "perfetto", run: perfetto::run, damage: Damage::Bytes, words: &[] },
    Target { name: "protocol", run: protocol::run, damage: Damage::Bytes, words: protocol::WORDS },
    Target { name: "settings", run: settings::run, damage: Damage::Bytes, words: settings::WORDS },
    Target { name: "verify", run: verify::run, damage: Damage::Tokens, words: verify::WORDS },
];
