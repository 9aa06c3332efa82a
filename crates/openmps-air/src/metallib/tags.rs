//! Tags: a four-character code, a `u16` length and a payload each, up to `ENDT`, which has neither.

/// A tag's code.
pub(super) type Code = [u8; 4];

/// The tag that ends a list.
pub(super) const END: Code = *b"ENDT";
/// Code and length in front of a payload.
pub(super) const TAG_HEADER_BYTES: usize = 6;

/// One tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    pub(super) code: Code,
    pub(super) payload: &'a [u8],
    /// Where the code stands, from the start of the list.
    pub(super) offset: usize,
}

/// Why a list of tags cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TagError {
    /// Which tag, or what stands in its place.
    pub(super) what: String,
    /// Where it stands, from the start of the list.
    pub(super) offset: usize,
    pub(super) problem: String,
}

/// Walks the tags in `bytes`. After the last one, [`Tags::end`] says where `ENDT` ended.
pub(super) struct Tags<'a> {
    bytes: &'a [u8],
    place: usize,
    end: Option<usize>,
}

impl<'a> Tags<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, place: 0, end: None }
    }

    /// Just behind `ENDT`, once it was reached.
    pub(super) fn end(&self) -> Option<usize> {
        self.end
    }

    /// The next tag, `None` at `ENDT`.
    pub(super) fn next(&mut self) -> Result<Option<Tag<'a>>, TagError> {
        let (bytes, offset) = (self.bytes, self.place);
        let rest = &bytes[offset..];
        let Some(code) = rest.first_chunk::<4>() else {
            let what = "the tag list".to_owned();
            return Err(TagError { what, offset, problem: format!("ends at {} bytes without ENDT", bytes.len()) });
        };
        if *code == END {
            self.end = Some(offset + code.len());
            return Ok(None);
        }
        let refuse = |problem: String| TagError { what: format!("tag {}", name(*code)), offset, problem };
        let [low, high] = rest
            .get(4..TAG_HEADER_BYTES)
            .and_then(|length| length.first_chunk::<2>())
            .ok_or_else(|| refuse(format!("has no room for its length, the list ends at {} bytes", bytes.len())))?;
        let length = usize::from(u16::from_le_bytes([*low, *high]));
        let payload = rest
            .get(TAG_HEADER_BYTES..TAG_HEADER_BYTES + length)
            .ok_or_else(|| refuse(format!("has {length} bytes, but {} are left", rest.len() - TAG_HEADER_BYTES)))?;
        self.place = offset + TAG_HEADER_BYTES + length;
        Ok(Some(Tag { code: *code, payload, offset }))
    }
}

/// A code for messages: its letters, or its bytes where they are none.
pub(super) fn name(code: Code) -> String {
    if code.iter().all(u8::is_ascii_graphic) {
        return code.iter().map(|byte| char::from(*byte)).collect();
    }
    let [a, b, c, d] = code;
    format!("{a:02x} {b:02x} {c:02x} {d:02x}")
}

/// Appends one tag.
///
/// # Panics
/// When `payload` has more bytes than its length can say, which writers check before.
pub(super) fn write(out: &mut Vec<u8>, code: Code, payload: &[u8]) {
    let length = u16::try_from(payload.len()).expect("payloads are checked to have at most 65,535 bytes");
    out.extend_from_slice(&code);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(payload);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_walked_to_the_end() {
        let mut bytes = Vec::new();
        write(&mut bytes, *b"NAME", b"k\0");
        write(&mut bytes, *b"ODD?", b"");
        bytes.extend_from_slice(b"ENDTrest");
        let mut tags = Tags::new(&bytes);
        assert_eq!(tags.next(), Ok(Some(Tag { code: *b"NAME", payload: b"k\0", offset: 0 })));
        assert_eq!(tags.next(), Ok(Some(Tag { code: *b"ODD?", payload: b"", offset: 8 })));
        assert_eq!((tags.next(), tags.end()), (Ok(None), Some(18)));
    }

    #[test]
    fn refusals_say_which_tag_and_where() {
        let check = |bytes: &[u8], expected: (&str, usize, &str)| {
            let mut tags = Tags::new(bytes);
            let error = loop {
                match tags.next() {
                    Ok(Some(_)) => {}
                    Ok(None) => panic!("no refusal"),
                    Err(error) => break error,
                }
            };
            assert_eq!((&*error.what, error.offset, &*error.problem), expected);
        };
        check(b"", ("the tag list", 0, "ends at 0 bytes without ENDT"));
        check(b"TYPE\x01\x00\x02END", ("the tag list", 7, "ends at 10 bytes without ENDT"));
        check(b"TYPE\x01", ("tag TYPE", 0, "has no room for its length, the list ends at 5 bytes"));
        check(b"TYPE\x03\x00\x02\x02", ("tag TYPE", 0, "has 3 bytes, but 2 are left"));
        check(b"\x00\xffPE\x03\x00", ("tag 00 ff 50 45", 0, "has 3 bytes, but 0 are left"));
    }
}
