//! What client and server say to each other: frames of a length, a protocol version and a postcard message.
//!
//! Both ends come from one build, so there is one version and no negotiation: a frame of another version is an error
//! that names both. Lengths are checked before memory is taken for them.

use std::io::{self, Read, Write};

use openmps_engine::{
    CompileError, CompileOptions, CompiledSource, ConstantValues, CountingAir, EngineError, EngineOptions,
    KernelSignature, LoadedAir, VerifiedAir,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize as SerializeDerive};

/// Changes with every change of the types below or of what the engine crate puts into them.
pub const PROTOCOL_VERSION: u32 = 9;

/// Most bytes of one frame; the largest known library (19,455 kernels) is 80 MB of bitcode.
pub const FRAME_BYTES_MAX: u32 = 512 << 20;

/// What a client asks.
#[derive(Clone, Debug, SerializeDerive, Deserialize)]
pub enum Request {
    /// Metal source text to AIR.
    CompileSource {
        /// One translation unit.
        source: String,
        /// How to compile it.
        options: CompileOptions,
    },
    /// Bitcode that another compiler made to a module with signatures.
    LoadAir {
        /// The bitcode, which nobody has verified.
        bitcode: Vec<u8>,
    },
    /// Function constants of one kernel to their values.
    Specialize {
        /// The module.
        air: VerifiedAir,
        /// The kernel's host name.
        kernel: String,
        /// The values.
        values: ConstantValues,
    },
    /// One kernel of an AIR module to a relocatable object.
    BuildObject {
        /// The module.
        air: VerifiedAir,
        /// The kernel.
        signature: KernelSignature,
        /// What else changes the code.
        options: EngineOptions,
    },
    /// A module to one module for each of some kernels.
    SplitAir {
        /// The module.
        air: VerifiedAir,
        /// The kernels' host names.
        kernels: Vec<String>,
    },
    /// Metal source text to AIR with the lines of the source.
    CompileWithLines {
        /// One translation unit.
        source: String,
        /// How to compile it.
        options: CompileOptions,
    },
    /// A kernel to one that counts what it does.
    CountAir {
        /// The module.
        air: VerifiedAir,
        /// The kernel's host name.
        kernel: String,
    },
    /// A module as LLVM IR text.
    PrintAir {
        /// The module.
        air: VerifiedAir,
    },
    /// One kernel of an AIR module to assembly text.
    PrintCode {
        /// The module.
        air: VerifiedAir,
        /// The kernel.
        signature: KernelSignature,
        /// What else changes the code.
        options: EngineOptions,
    },
}

/// What the server answers, in order of the requests.
#[derive(Clone, Debug, PartialEq, SerializeDerive, Deserialize)]
pub enum Response {
    /// To [`Request::CompileSource`] and [`Request::CompileWithLines`].
    Source(Result<CompiledSource, CompileError>),
    /// To [`Request::LoadAir`] and [`Request::Specialize`].
    Air(Result<LoadedAir, EngineError>),
    /// To [`Request::BuildObject`]: the bytes of an ELF relocatable object.
    Object(Result<Vec<u8>, EngineError>),
    /// To [`Request::SplitAir`], in the order of the kernels.
    Modules(Result<Vec<VerifiedAir>, EngineError>),
    /// To [`Request::CountAir`].
    Counting(Result<CountingAir, EngineError>),
    /// To [`Request::PrintAir`] and [`Request::PrintCode`].
    Text(Result<String, EngineError>),
}

/// The postcard bytes of `message`.
///
/// # Errors
/// When the message cannot be serialized, which types of this crate always can.
pub fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    postcard::to_stdvec(message).map_err(io::Error::other)
}

/// The message in `bytes`.
///
/// # Errors
/// When the bytes are not such a message.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> io::Result<T> {
    postcard::from_bytes(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Writes one frame.
///
/// # Errors
/// Those of `stream`, and a body that is too long.
pub fn write_frame(stream: &mut impl Write, body: &[u8]) -> io::Result<()> {
    let length = u32::try_from(body.len()).ok().filter(|length| *length <= FRAME_BYTES_MAX).ok_or_else(|| {
        let length = body.len();
        io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("a message has {length} bytes, at most {FRAME_BYTES_MAX} can be sent"),
        )
    })?;
    let mut header = [0; 8];
    header[..4].copy_from_slice(&length.to_le_bytes());
    header[4..].copy_from_slice(&PROTOCOL_VERSION.to_le_bytes());
    stream.write_all(&header)?;
    stream.write_all(body)?;
    stream.flush()
}

/// Reads one frame; `None` where the stream ends before it.
///
/// # Errors
/// Those of `stream`, an end in the middle, another version, and a length over the limit.
pub fn read_frame(stream: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut header = [0; 8];
    let mut filled = 0;
    while filled < header.len() {
        match stream.read(&mut header[filled..]) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let (length, version) = (word(0), word(4));
    let invalid = |text: String| Err(io::Error::new(io::ErrorKind::InvalidData, text));
    if version != PROTOCOL_VERSION {
        return invalid(format!("the other side speaks protocol version {version}, expected {PROTOCOL_VERSION}"));
    }
    if length > FRAME_BYTES_MAX {
        return invalid(format!("a message of {length} bytes is announced, at most {FRAME_BYTES_MAX} are allowed"));
    }
    let mut body = Vec::new();
    // Grows with what arrives, so that a lie about the length costs no memory.
    let count = stream.take(u64::from(length)).read_to_end(&mut body)?;
    if u32::try_from(count) != Ok(length) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_round_trip_and_end() {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, b"one").unwrap();
        write_frame(&mut bytes, b"").unwrap();
        let mut stream = bytes.as_slice();
        assert_eq!(read_frame(&mut stream).unwrap().as_deref(), Some(&b"one"[..]));
        assert_eq!(read_frame(&mut stream).unwrap().as_deref(), Some(&b""[..]));
        assert_eq!(read_frame(&mut stream).unwrap(), None);
    }

    #[test]
    fn a_frame_cut_anywhere_is_an_error() {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, b"body").unwrap();
        for length in 1..bytes.len() {
            let error = read_frame(&mut &bytes[..length]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "cut at {length}");
        }
    }

    #[test]
    fn another_version_and_a_huge_length_are_named() {
        let mut frame = [0, 0, 0, 0, 99, 0, 0, 0];
        let error = read_frame(&mut &frame[..]).unwrap_err();
        let expected = format!("the other side speaks protocol version 99, expected {PROTOCOL_VERSION}");
        assert_eq!(error.to_string(), expected);
        frame[..4].fill(255);
        frame[4..].copy_from_slice(&PROTOCOL_VERSION.to_le_bytes());
        let error = read_frame(&mut &frame[..]).unwrap_err();
        assert_eq!(error.to_string(), "a message of 4294967295 bytes is announced, at most 536870912 are allowed");
    }
}
