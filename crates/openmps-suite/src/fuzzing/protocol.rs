//! What the compiler process, its client and the cache read: a stream of frames with messages, and a cache entry.
//!
//! Damage is an error. What is read is written back to bytes that read the same, and memory stays in proportion.

use std::fmt::Debug;

use openmps_compiler::cache::entry_payload;
use openmps_compiler::protocol::{PROTOCOL_VERSION, Request, Response, decode, encode, read_frame, write_frame};
use openmps_engine::{CompileError, CompiledSource};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Beginnings that a random byte does not find.
pub const WORDS: &[&[u8]] =
    &[b"OPENMPS1", &frame_header([0; 4]), &frame_header([255, 255, 255, 31]), &[255, 255, 255, 255, 15]];

/// The header of a frame with this length, little-endian.
const fn frame_header([a, b, c, d]: [u8; 4]) -> [u8; 8] {
    let [e, f, g, h] = PROTOCOL_VERSION.to_le_bytes();
    [a, b, c, d, e, f, g, h]
}

/// Reads `input` as all of them.
///
/// # Panics
/// When a message that was read does not survive being written.
pub fn run(input: &[u8]) {
    let mut stream = input;
    // Ends: every frame that is read shortens the stream by its header at least.
    while let Ok(Some(body)) = read_frame(&mut stream) {
        let mut frame = Vec::new();
        write_frame(&mut frame, &body).expect("a Vec takes all bytes, and the body was short enough to be read");
        assert_eq!(read_frame(&mut frame.as_slice()).expect("just written").as_deref(), Some(body.as_slice()));
        messages(&body);
    }
    if let Some(payload) = entry_payload(input) {
        messages(payload);
    }
    // As mutations rarely keep checksum and length, the payload is read without them too.
    messages(input);
}

/// Everything that may be in a frame or an entry.
fn messages(bytes: &[u8]) {
    round_trip::<Request>(bytes);
    round_trip::<Response>(bytes);
    round_trip::<Result<CompiledSource, CompileError>>(bytes);
    round_trip::<Vec<u8>>(bytes);
}

fn round_trip<T: DeserializeOwned + Serialize + Debug>(bytes: &[u8]) {
    let Ok(message) = decode::<T>(bytes) else { return };
    let written = encode(&message).expect("what was read can be written");
    let again: T = decode(&written).expect("what was written can be read");
    assert_eq!(format!("{message:?}"), format!("{again:?}"));
}
