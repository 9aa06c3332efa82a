use std::env;
use std::process;

use super::*;
use crate::stream::Stream;

#[test]
fn a_capture_lists_what_ran_and_ends() {
    let folder = env::temp_dir().join(format!("openmps-capture-{}", process::id()));
    fs::create_dir_all(&folder).unwrap();

    let refused = start_in(&folder, "off", false).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "Failed to start capture of 0000-off.gputrace error Capture layer is not inserted."
    );
    assert!(!is_capturing());

    start_in(&folder, "on", true).unwrap();
    assert!(is_capturing());
    let again = start_in(&folder, "twice", true).unwrap_err();
    let text = "Failed to start capture of 0002-twice.gputrace error Capture manager is already capturing.";
    assert_eq!(again.to_string(), text);
    let missing = "Failed to start capture of 0003-no/x.gputrace error ";

    let stream = Stream::with_id(32).unwrap();
    // Only this stream: the errors of other tests' streams are theirs to see.
    let stop = || stop_after(|| stream.synchronize());
    let position = stream.encode(Command::host("first", || Ok(())));
    stream.encode(Command::host("second", || Err(StreamError::internal("late"))));
    assert_eq!(stop().unwrap_err().to_string(), "late");
    assert!(!is_capturing());
    stream.encode(Command::host("after", || Ok(())));
    assert_eq!(stop(), Ok(()));
    assert!(start_in(&folder, "no/x", true).unwrap_err().to_string().starts_with(missing));

    let manifest = fs::read_to_string(folder.join("0001-on.gputrace/manifest.txt")).unwrap();
    // Other tests' streams may be listed too.
    assert!(manifest.starts_with("openmps capture 1\n"), "{manifest}");
    let own: Vec<&str> = manifest.lines().filter(|line| line.starts_with("stream=32 ")).collect();
    let line = |position: u64, name: &str| format!("stream=32 position={position} host {name}");
    assert_eq!(own, [line(position, "first"), line(position + 1, "second")]);
    let count = manifest.lines().filter(|line| line.starts_with("stream=")).count();
    assert!(manifest.ends_with(&format!("\ncommands={count}\n")), "{manifest}");
    fs::remove_dir_all(&folder).unwrap();
}
