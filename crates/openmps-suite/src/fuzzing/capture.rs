//! The reader of captures on any bytes: an error, or a capture in which every number leads somewhere.
//!
//! An input that starts with 0 is the index as it is. Otherwise records follow, each behind its length in two bytes, up to one of
//! length 0, and then the chunks: records get the hashes that random bytes would never have.

use openmps_trace::{
    Binding, Capture, Chunk, ContentNumber, Header, Holder, Launch, Origin, Pipeline, PipelineNumber, Place, Record,
    Region, Relocation, Tensor, Texture, TextureLevel, Written, index_of,
};

/// Bytes that a content may have to be read.
const CONTENT_BYTES_MAX: u64 = 1 << 24;

/// Opens `input` and reads everything in it.
///
/// # Panics
/// When an error has no text, or a capture has a number that leads nowhere.
pub fn run(input: &[u8]) {
    let result = match input.split_first() {
        Some((0, index)) => Capture::from_bytes(index, Vec::new()),
        Some((_, records)) => {
            let (payloads, chunks) = split(records);
            Capture::from_bytes(&index_of(&payloads), chunks.to_vec())
        }
        None => Capture::from_bytes(input, Vec::new()),
    };
    match result {
        Ok(capture) => read(&capture),
        Err(error) => assert!(!error.to_string().is_empty(), "a refusal without a text"),
    }
}

/// The records' bytes, and what follows them.
fn split(mut rest: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let mut payloads = Vec::new();
    while let Some((length, behind)) = rest.split_first_chunk::<2>() {
        rest = behind;
        let length = usize::from(u16::from_le_bytes(*length));
        let Some((payload, behind)) = rest.split_at_checked(length).filter(|_| length > 0) else { break };
        payloads.push(payload);
        rest = behind;
    }
    (payloads, rest)
}

fn read(capture: &Capture) {
    for pipeline in capture.pipelines() {
        content(capture, pipeline.air);
        match pipeline.origin {
            Origin::Source { text, .. } => content(capture, text),
            Origin::Library { bitcode } => content(capture, bitcode),
        }
    }
    for launch in capture.launches() {
        let _ = capture.pipeline(launch.pipeline);
        for region in &launch.regions {
            content(capture, region.before);
            let size_bytes = capture.size_bytes(region.before);
            assert!(region.address.checked_add(size_bytes).is_some(), "a region ends outside of the address space");
            if let Written::After(after) = region.written {
                assert_eq!(capture.size_bytes(after), size_bytes);
            }
        }
        let places = launch.buffers.iter().filter_map(|(_, binding)| match binding {
            Binding::Memory(place) => Some(place),
            Binding::Bytes(_) | Binding::Null => None,
        });
        for place in places.chain(launch.textures.iter().map(|(_, texture)| &texture.place)) {
            let region = &launch.regions[place.region as usize];
            assert!(place.offset_bytes + place.size_bytes <= capture.size_bytes(region.before));
        }
    }
}

fn content(capture: &Capture, content: ContentNumber) {
    match capture.read(content, CONTENT_BYTES_MAX) {
        Ok(bytes) => {
            assert_eq!(bytes.len() as u64, capture.size_bytes(content));
            assert_eq!(capture.read_start(content, 10).as_deref().ok(), bytes.get(..bytes.len().min(10)));
        }
        Err(error) => assert!(!error.to_string().is_empty(), "a refusal without a text"),
    }
}

/// Seeds by name: a whole capture as records, and the start of one as it lies in the file.
///
/// # Panics
/// Never: all of it can be written.
#[must_use]
pub fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let (chunk, frame) = zeros();
    let mut records = vec![1];
    for record in whole(chunk) {
        let payload = openmps_trace::payload_of(&record);
        records.extend(u16::try_from(payload.len()).expect("records of a few bytes").to_le_bytes());
        records.extend(payload);
    }
    records.extend([0, 0]);
    records.extend(frame);
    let header = openmps_trace::payload_of(&Record::Header(Header::default()));
    let index = [vec![0], index_of(&[&header])].concat();
    vec![("whole", records), ("index", index)]
}

/// A chunk of 16 zeros, and its frame: a zstd frame with one run.
fn zeros() -> (Chunk, Vec<u8>) {
    // Magic, one segment with its length in one byte, the last block: a run of 16 bytes.
    let frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x20, 16, 0x83, 0, 0, 0];
    let stored_bytes = u32::try_from(frame.len()).expect("ten");
    // BLAKE3 of 16 zeros, as `the_seed_is_read` checks.
    (Chunk { hash: openmps_trace::hash_of(&[0; 16]), offset: 0, stored_bytes, raw_bytes: 16 }, frame)
}

fn whole(chunk: Chunk) -> Vec<Record> {
    let number = ContentNumber(0);
    let place = Place { region: 0, offset_bytes: 0, size_bytes: 16 };
    let texture = Texture {
        place,
        texture_type: "2d".into(),
        format: "R8Unorm".into(),
        size: [4, 4, 1],
        array_length: 1,
        levels: vec![TextureLevel { offset_bytes: 0, bytes_per_row: 4, bytes_per_image: 16 }],
        shader_read: true,
        shader_write: false,
    };
    let launch = Launch {
        stream: 0,
        position: 1,
        pipeline: PipelineNumber(0),
        started_ns: 1,
        ended_ns: 2,
        threads: [4, 1, 1],
        group: [2, 1, 1],
        buffers: vec![(0, Binding::Memory(place)), (1, Binding::Bytes(vec![0; 8])), (2, Binding::Null)],
        threadgroup: vec![(0, 64)],
        textures: vec![(0, texture)],
        samplers: vec![(0, [1, 2])],
        regions: vec![Region { address: 4096, before: number, written: Written::After(number) }],
        relocations: vec![Relocation { holder: Holder::Bytes(1), offset_bytes: 0, region: 0, target_bytes: 4 }],
        tensors: vec![(0, Tensor { dtype: "int8".into(), sizes: vec![16], strides: vec![1] })],
        error: None,
    };
    let origin = Origin::Source { text: number, language_version: "3.2".into(), fast_math: false };
    let pipeline =
        Pipeline { name: "k".into(), origin, constants: vec![], air: number, engine: "cpu".into(), arguments: vec![] };
    vec![
        Record::Header(Header::default()),
        Record::Chunk(chunk),
        Record::Content { size_bytes: 16, chunks: vec![0] },
        Record::Pipeline(pipeline),
        Record::Launch(launch),
        Record::End { time_ns: 3 },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_is_read() {
        let (_, whole) = seeds().swap_remove(0);
        let (payloads, chunks) = split(&whole[1..]);
        let capture = Capture::from_bytes(&index_of(&payloads), chunks.to_vec()).unwrap();
        assert!(capture.is_ended());
        assert_eq!(capture.read(ContentNumber(0), 16).unwrap(), [0; 16]);
        run(&whole);
    }
}
