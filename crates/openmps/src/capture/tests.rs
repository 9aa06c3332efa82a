use std::path::PathBuf;
use std::{env, fs, process};

use openmps_trace::{Capture, Entry, INDEX_FILE};

use super::*;
use crate::stream::{Command, Stream};

fn folder(name: &str) -> PathBuf {
    let folder = env::temp_dir().join(format!("openmps-capture-{name}-{}", process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Only one capture can run in a process, so one test has them all.
#[test]
fn captures_start_record_and_end() {
    let folder = folder("states");
    let limit = crate::limits::CAPTURE_BYTES_MAX;
    let refused = start_in(&folder, "off", false, limit).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "Failed to start capture of 0000-off.gputrace error Capture layer is not inserted."
    );
    assert!(!is_capturing());

    start_in(&folder, "on", true, limit).unwrap();
    assert!(is_capturing());
    let again = start_in(&folder, "twice", true, limit).unwrap_err();
    let text = "Failed to start capture of 0002-twice.gputrace error Capture manager is already capturing.";
    assert_eq!(again.to_string(), text);

    let stream = Stream::with_id(32).unwrap();
    // Only this stream: the errors of other tests' streams are theirs to see.
    let stop = || stop_after(|| stream.synchronize());
    let position = stream.encode(Command::host("first", || Ok(())));
    stream.encode(Command::host("second", || Err(StreamError::internal("late"))));
    observe::host_op(&HostOp { name: "aten::add", tensors: "MPS:Float[2]\nCPU:Int[]", started_ns: 1, ended_ns: 2 });
    let failed = "MPS command buffer execution failed: late. This error may have been asynchronously reported, so the stack \
                  trace below might be incorrect.";
    assert_eq!(stop().unwrap_err().to_string(), failed);
    assert!(!is_capturing());
    stream.encode(Command::host("after", || Ok(())));
    assert_eq!(stop(), Ok(()));

    let capture = Capture::open(&folder.join("0001-on.gputrace")).unwrap();
    assert!(capture.is_ended());
    assert_eq!(capture.header().name, "on");
    // Other tests' streams may be listed too.
    let own: Vec<_> = capture.entries().iter().filter_map(|entry| host_of(entry, 32)).collect();
    assert_eq!(own, [(position, "first", None), (position + 1, "second", Some(failed))]);
    let op =
        capture.entries().iter().find_map(|entry| if let Entry::Op(op) = entry { Some(op) } else { None }).unwrap();
    assert_eq!((op.name.as_str(), op.tensors.join(";").as_str()), ("aten::add", "MPS:Float[2];CPU:Int[]"));

    let missing = "Failed to start capture of no/0003-x.gputrace error No such file or directory (os error 2)";
    assert_eq!(start_in(&folder, "no/x", true, limit).unwrap_err().to_string(), missing);
    a_capture_that_cannot_be_written_ends_and_nothing_else(&folder, stream);
    fs::remove_dir_all(&folder).unwrap();
}

fn a_capture_that_cannot_be_written_ends_and_nothing_else(folder: &Path, stream: Stream) {
    start_in(folder, "small", true, 200).unwrap();
    for _ in 0..100 {
        stream.encode(Command::host("a command with a name of some length", || Ok(())));
    }
    let name = folder.join("0004-small.gputrace");
    let reason = "recording stopped at the limit of 200 bytes, OPENMPS_CAPTURE_LIMIT sets another";
    let expected = format!("capture {} is not complete: {reason}", name.display());
    assert_eq!(stop_after(|| stream.synchronize()).unwrap_err().to_string(), expected);
    let capture = Capture::open(&name).unwrap();
    assert_eq!((capture.limit_reached(), capture.is_ended()), (Some(200), false));
    assert!(!capture.entries().is_empty());
    assert!(fs::metadata(name.join(INDEX_FILE)).unwrap().len() < 250);
}

fn host_of(entry: &Entry, stream: u32) -> Option<(u64, &str, Option<&str>)> {
    match entry {
        Entry::Host(host) if host.stream == stream => Some((host.position, host.name.as_str(), host.error.as_deref())),
        Entry::Host(_) | Entry::Launch(_) | Entry::Copy(_) | Entry::Signal(_) | Entry::Wait(_) | Entry::Op(_) => None,
    }
}

#[test]
fn names_may_have_folders() {
    for (name, expected) in [
        ("x", "0007-x.gputrace"),
        ("/x", "/0007-x.gputrace"),
        ("a/b/x y", "a/b/0007-x y.gputrace"),
        ("a/", "a/0007-.gputrace"),
    ] {
        assert_eq!(file_name(7, name), Path::new(expected));
    }
}
