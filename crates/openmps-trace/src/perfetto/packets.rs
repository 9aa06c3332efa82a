//! A file cut into packets.

use prost::Message as _;

use super::error::TraceError;
use super::message::TracePacket;

/// Field 1 of `Trace`, with a length.
const PACKET: u8 = 0x0a;

/// What a file starts with that people take for traces.
const OTHERS: [(&[u8], &str); 5] = [
    (&[0x1f, 0x8b], "it is compressed, gunzip unpacks it"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "it is compressed, zstd -d unpacks it"),
    (b"{", "it is text, perhaps JSON in Chrome's old format"),
    (b"[", "it is text, perhaps JSON in Chrome's old format"),
    (b"openmps capture\n", "it is the index of a capture, whose folder is what can be shown"),
];

/// Calls `each` with the packets of `bytes`; returns how many bytes of a packet that is cut off the file ends with.
///
/// # Errors
/// [`TraceError::Foreign`], [`TraceError::Damaged`].
pub(super) fn packets(bytes: &[u8], mut each: impl FnMut(TracePacket)) -> Result<usize, TraceError> {
    foreign(bytes)?;
    let mut rest = bytes;
    let mut number = 0;
    while let Some((&tag, behind)) = rest.split_first() {
        let offset = bytes.len() - rest.len();
        let damaged = |reason: &str| TraceError::Damaged { packet: number, offset, reason: reason.into() };
        let nothing = |reason: &str| TraceError::Foreign { what: reason.into() };
        if tag != PACKET {
            return Err(damaged("no packet starts there"));
        }
        let mut behind = behind;
        let packet = match prost::decode_length_delimiter(&mut behind) {
            Ok(length) => behind.split_off(..length),
            // A length of ten bytes is damage, a shorter one is cut off.
            Err(_) if behind.len() >= 10 && number > 0 => return Err(damaged("its length is none")),
            Err(_) => None,
        };
        let Some(packet) = packet else {
            return if number == 0 { Err(nothing("it has no whole packet")) } else { Ok(rest.len()) };
        };
        match TracePacket::decode(packet) {
            Ok(packet) => each(packet),
            Err(error) if number == 0 => return Err(nothing(&format!("its first packet is none: {error}"))),
            Err(error) => return Err(damaged(&error.to_string())),
        }
        number += 1;
        rest = behind;
    }
    Ok(0)
}

fn foreign(bytes: &[u8]) -> Result<(), TraceError> {
    let what = match bytes.first() {
        None => "the file is empty",
        Some(&PACKET) => return Ok(()),
        Some(_) => {
            let known = OTHERS.iter().find(|(start, _)| bytes.starts_with(start));
            known.map_or("it does not start with a packet", |(_, what)| what)
        }
    };
    Err(TraceError::Foreign { what: what.into() })
}
