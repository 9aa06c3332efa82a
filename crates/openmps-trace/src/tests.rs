use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::*;

/// A launch of one kernel over one region of `size_bytes` bytes.
fn launch(before: ContentNumber, after: ContentNumber, size_bytes: u64) -> Launch {
    Launch {
        stream: 1,
        position: 2,
        pipeline: PipelineNumber(0),
        started_ns: 10,
        ended_ns: 20,
        threads: [4, 1, 1],
        group: [2, 1, 1],
        buffers: vec![
            (0, Binding::Memory(Place { region: 0, offset_bytes: 0, size_bytes })),
            (1, Binding::Bytes(vec![0; 16])),
        ],
        threadgroup: vec![(0, 64)],
        textures: vec![],
        samplers: vec![(0, [1, 2])],
        regions: vec![Region { address: 4096, before, written: Written::After(after) }],
        relocations: vec![Relocation { holder: Holder::Bytes(1), offset_bytes: 8, region: 0, target_bytes: 4 }],
        tensors: vec![(0, Tensor { dtype: "float32".into(), sizes: vec![2, 2], strides: vec![2, 1] })],
        error: None,
    }
}

fn pipeline(air: ContentNumber, text: ContentNumber) -> Pipeline {
    let origin = Origin::Source { text, language_version: "3.2".into(), fast_math: false };
    Pipeline { name: "k".into(), origin, constants: vec![], air, engine: "cpu".into(), arguments: vec![] }
}

/// A capture with two launches in `folder`; what they are.
fn write(folder: &Path) -> Vec<Launch> {
    let mut writer = Writer::create(folder, Header { name: "n".into(), ..Header::default() }, u64::MAX).unwrap();
    let (text, air) = (writer.put(b"text").unwrap(), writer.put(b"air").unwrap());
    writer.pipeline(pipeline(air, text)).unwrap();
    let before = writer.put(&[1; 16]).unwrap();
    let after = writer.put(&[2; 16]).unwrap();
    let launches = vec![launch(before, after, 16), launch(after, before, 16)];
    for launch in &launches {
        writer.append(&Record::Launch(launch.clone())).unwrap();
    }
    writer.append(&Record::End { time_ns: 30 }).unwrap();
    launches
}

fn files(folder: &Path) -> (Vec<u8>, Vec<u8>) {
    (fs::read(folder.join(INDEX_FILE)).unwrap(), fs::read(folder.join(CONTENTS_FILE)).unwrap())
}

#[test]
fn what_was_written_is_read() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("0000-n.gputrace");
    let launches = write(&folder);
    let capture = Capture::open(&folder).unwrap();
    assert_eq!(capture.launches().cloned().collect::<Vec<_>>(), launches);
    assert!(capture.is_ended() && capture.limit_reached().is_none());
    let Region { before, written: Written::After(after), .. } = launches[0].regions[0] else { panic!("written") };
    assert_eq!((capture.size_bytes(before), capture.read(before, 16).unwrap()), (16, vec![1; 16]));
    assert_eq!(capture.read_start(after, 3).unwrap(), [2; 3]);
    let text = capture.read(before, 15).unwrap_err().to_string();
    assert_eq!(text, "content 2 has 16 bytes, at most 15 are read");
}

#[test]
fn equal_contents_are_stored_once_and_chunks_of_large_ones_too() {
    let parent = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(&parent.path().join("c"), Header::default(), u64::MAX).unwrap();
    let mut large: Vec<u8> = (0..=255).cycle().flat_map(|byte| [byte; 999]).take(3 * CHUNK_BYTES + 5).collect();
    let first = writer.put(&large).unwrap();
    let size_bytes = writer.size_bytes();
    assert_eq!(writer.put(&large).unwrap(), first);
    assert_eq!(writer.size_bytes(), size_bytes);
    *large.last_mut().unwrap() += 1;
    let second = writer.put(&large).unwrap();
    assert_ne!(second, first);
    assert!(writer.size_bytes() < size_bytes + 200, "one small chunk is new");
    let zeros = writer.put(&vec![0; 4 * CHUNK_BYTES]).unwrap();
    let empty = writer.put(&[]).unwrap();

    let capture = Capture::open(&parent.path().join("c")).unwrap();
    assert!(!capture.is_ended());
    let read = |content| capture.read(content, u64::MAX).unwrap();
    assert!(read(second) == large && read(zeros) == vec![0; 4 * CHUNK_BYTES] && read(empty).is_empty());
    assert_eq!(capture.read_start(second, CHUNK_BYTES + 1).unwrap(), large[..=CHUNK_BYTES]);
}

#[test]
fn the_limit_holds_and_what_was_written_before_is_read() {
    let parent = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(&parent.path().join("c"), Header::default(), 1000).unwrap();
    let error = (0..1000).map(|number: u32| writer.put(&number.to_le_bytes())).find_map(Result::err).unwrap();
    assert_eq!(error.to_string(), "the capture has reached its limit of 1000 bytes");
    assert!(writer.size_bytes() < 1100);
    let capture = Capture::open(&parent.path().join("c")).unwrap();
    assert_eq!((capture.limit_reached(), capture.is_ended()), (Some(1000), false));
    assert_eq!(capture.read(ContentNumber(0), 4).unwrap(), [0; 4]);
}

#[test]
fn an_unwritable_folder_says_so() {
    let parent = tempfile::tempdir().unwrap();
    let error = Writer::create(&parent.path().join("a/b"), Header::default(), 1).err().unwrap();
    assert_eq!(error.to_string(), "No such file or directory (os error 2)");
}

#[test]
fn a_capture_that_was_cut_anywhere_is_read_up_to_there() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("c");
    let launches = write(&folder);
    let (index, contents) = files(&folder);
    let mut counts = Vec::new();
    for length in 0..index.len() {
        match Capture::from_bytes(&index[..length], contents.clone()) {
            Ok(capture) => {
                assert!(!capture.is_ended());
                counts.push(capture.launches().count());
            }
            Err(error) => {
                assert!(counts.is_empty(), "only a capture without a whole header is refused");
                assert_eq!(error.to_string(), "index.log is not an openmps capture: it does not start with its mark");
            }
        }
    }
    assert_eq!((counts.first(), counts.last()), (Some(&0), Some(&launches.len())));
    assert!(counts.is_sorted());
    let capture = Capture::from_bytes(&index, contents[..contents.len() - 1].to_vec()).unwrap();
    let text = capture.read(ContentNumber(3), 16).unwrap_err().to_string();
    assert!(
        text.starts_with("contents.zst is damaged: chunk 3, ") && text.ends_with(": the file ends before"),
        "{text}"
    );
}

#[test]
fn other_files_and_versions_are_named() {
    let text = |index: &[u8]| Capture::from_bytes(index, vec![]).unwrap_err().to_string();
    let foreign = "index.log is not an openmps capture: it does not start with its mark";
    assert_eq!(text(b""), foreign);
    assert_eq!(text(b"bplist00"), foreign);
    assert_eq!(text(&index_of(&[])), foreign);
    let mut version = index_of(&[]);
    version[16] = 7;
    assert_eq!(text(&version), "index.log is an openmps capture of format 7, expected format 1");
    let error = Capture::open(Path::new("/nonexistent")).unwrap_err().to_string();
    assert_eq!(error, "cannot read /nonexistent/index.log: No such file or directory (os error 2)");
}

/// The text of the refusal of a capture with these records after a header and two contents of 16 bytes.
fn refusal(records: &[Record]) -> String {
    let chunk = Chunk { hash: [0; 32], offset: 0, stored_bytes: 1, raw_bytes: 16 };
    let content = Record::Content { size_bytes: 16, chunks: vec![0] };
    let start = [Record::Header(Header::default()), Record::Chunk(chunk), content.clone(), content];
    let payloads: Vec<Vec<u8>> =
        start.iter().chain(records).map(|record| postcard::to_stdvec(record).unwrap()).collect();
    let payloads: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
    let error = Capture::from_bytes(&index_of(&payloads), vec![]).err().map(|error| error.to_string());
    error.map_or_else(String::new, |text| text.split_once(": ").unwrap().1.split_once(": ").unwrap().1.into())
}

#[test]
fn records_that_do_not_fit_are_refused() {
    let (zero, one) = (ContentNumber(0), ContentNumber(1));
    assert_eq!(refusal(&[Record::Header(Header::default())]), "a capture has one header, at its start");
    let content = |size_bytes, chunks: &[u32]| Record::Content { size_bytes, chunks: chunks.into() };
    assert_eq!(refusal(&[content(16, &[1])]), "there is no chunk 1 yet");
    assert_eq!(refusal(&[content(15, &[0])]), "a content of 15 bytes has chunks of 16 bytes");
    assert_eq!(refusal(&[content(32, &[0, 0])]), "chunk 0 inside a content has 16 bytes, expected 262144");
    let chunk = |raw_bytes| Record::Chunk(Chunk { hash: [0; 32], offset: 0, stored_bytes: 1, raw_bytes });
    assert_eq!(refusal(&[chunk(262_145)]), "a chunk has 262145 bytes, expected 1 to 262144");
    assert_eq!(refusal(&[Record::Pipeline(pipeline(ContentNumber(2), zero))]), "there is no content 2 yet");
    assert_eq!(refusal(&[Record::Launch(launch(zero, one, 16))]), "there is no pipeline 0 yet");

    let with = |change: fn(&mut Launch)| {
        let mut launch = launch(zero, one, 16);
        change(&mut launch);
        refusal(&[Record::Pipeline(pipeline(zero, one)), Record::Launch(launch)])
    };
    assert_eq!(with(|_| {}), "");
    assert_eq!(with(|launch| launch.group[1] = 0), "a threadgroup of [2, 0, 1] threads");
    assert_eq!(with(|launch| launch.regions[0].address = u64::MAX), "a region ends outside of the address space");
    assert_eq!(with(|launch| launch.regions.push(launch.regions[0])), "regions of a launch overlap");
    assert_eq!(with(|launch| launch.buffers[0].0 = 31), "buffer index 31, expected less than 31");
    assert_eq!(with(|launch| launch.regions.clear()), "the launch has no region 0");
    let place = |launch: &mut Launch, offset_bytes, size_bytes| {
        launch.buffers[0].1 = Binding::Memory(Place { region: 0, offset_bytes, size_bytes });
    };
    let text = "18446744073709551615 bytes from 1 on in a region of 16 bytes";
    let mut far = launch(zero, one, 16);
    place(&mut far, 1, u64::MAX);
    assert_eq!(refusal(&[Record::Pipeline(pipeline(zero, one)), Record::Launch(far)]), text);
    assert_eq!(with(|launch| launch.relocations[0].offset_bytes = 9), "an address at byte 9 of 16");
    assert_eq!(with(|launch| launch.relocations[0].holder = Holder::Bytes(0)), "no bytes are bound at buffer index 0");
    assert_eq!(with(|launch| launch.relocations[0].target_bytes = 17), "an address of byte 17 in a region of 16 bytes");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any damage is an error, or changes nothing that is read.
    #[test]
    fn damage_is_found(place in 0_usize..10_000, bits in 1_u8..) {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("c");
        let launches = write(&folder);
        let (mut index, mut contents) = files(&folder);
        let place = place % (index.len() + contents.len());
        match place.checked_sub(index.len()) {
            None => index[place] ^= bits,
            Some(place) => contents[place] ^= bits,
        }
        if let Ok(capture) = Capture::from_bytes(&index, contents) {
            // A longer length of a record looks like one that is not there yet.
            prop_assert!(capture.launches().zip(&launches).all(|(found, expected)| found == expected));
            for launch in capture.launches() {
                let before = launch.regions[0].before;
                prop_assert!(capture.read(before, 16).is_ok_and(|bytes| bytes == [1; 16] || bytes == [2; 16])
                    || capture.read(before, 16).is_err());
            }
        }
    }
}
