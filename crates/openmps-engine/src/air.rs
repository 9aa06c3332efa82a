//! AIR bitcode that a verifier has accepted, its content hash, and how untrusted bitcode becomes that.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::constants::ConstantValues;
use crate::error::EngineError;
use crate::signature::KernelSignature;

/// The BLAKE3 hash of a module's bitcode; the key of code caches and captures.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AirHash([u8; 32]);

impl AirHash {
    /// The hash of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The 32 bytes of the hash.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for AirHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for AirHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An AIR module (LLVM bitcode) that `openmps-air::verify` has accepted. Cheap to clone.
///
/// AIR crosses crates and processes as these bytes, never as an LLVM handle, so that it can be hashed, stored and sent.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifiedAir {
    bitcode: Arc<[u8]>,
    hash: AirHash,
}

impl VerifiedAir {
    /// Wraps bitcode that the caller has just verified. Only `openmps-air::verify` and readers of our own hashed caches
    /// call this; handing unverified bytes to an engine may abort the process inside LLVM.
    #[must_use]
    pub fn from_verifier(bitcode: impl Into<Arc<[u8]>>) -> Self {
        let bitcode = bitcode.into();
        let hash = AirHash::of(&bitcode);
        Self { bitcode, hash }
    }

    /// The LLVM bitcode, starting at `BC 0xC0DE`.
    #[must_use]
    pub fn bitcode(&self) -> &[u8] {
        &self.bitcode
    }

    /// The hash of [`bitcode`](Self::bitcode).
    #[must_use]
    pub fn hash(&self) -> AirHash {
        self.hash
    }
}

impl fmt::Debug for VerifiedAir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifiedAir").field("size_bytes", &self.bitcode.len()).field("hash", &self.hash).finish()
    }
}

/// A module with the signatures of its kernels, sorted by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedAir {
    /// The module.
    pub air: VerifiedAir,
    /// Its kernels, sorted by host name.
    pub kernels: Vec<KernelSignature>,
}

/// Turns bitcode that Apple's compiler or another one made into modules that engines take.
pub trait AirLoader: Send + Sync {
    /// Verifies `bitcode` and reads the signatures of its kernels.
    ///
    /// # Errors
    /// [`EngineError::Invalid`] for bitcode that is not AIR as it should be, with what and where.
    fn load(&self, bitcode: &[u8]) -> Result<LoadedAir, EngineError>;

    /// Gives the function constants of `kernel` their values: the result holds that kernel alone, and its signature has neither
    /// constants nor gated arguments left.
    ///
    /// # Errors
    /// [`EngineError::Invalid`] for a required constant without a value and a value of the wrong type, by the constant's name;
    /// [`EngineError::NoSuchKernel`].
    fn specialize(&self, air: &VerifiedAir, kernel: &str, values: &ConstantValues) -> Result<LoadedAir, EngineError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_names_the_content() {
        let module = VerifiedAir::from_verifier(&b"BC"[..]);
        assert_eq!(module.hash(), AirHash::of(b"BC"));
        assert_ne!(module.hash(), AirHash::of(b"BD"));
        assert_eq!(module.hash().to_string().len(), 64);
    }
}
