//! The profiler as a whole; each test has a process of its own.

use super::*;

#[test]
fn a_trace_starts_once_and_stops_twice() {
    assert!(!is_tracing());
    start_trace("", true).unwrap();
    assert!(!is_tracing() && !waits_until_completed(), "an empty mode starts nothing");
    let folder = std::env::temp_dir().join(format!("openmps-profile-{}", std::process::id()));
    trace::start(&folder, SHOW);
    start_trace("interval", true).unwrap();
    assert!(is_tracing() && waits_until_completed());
    assert_eq!(flags(), flag::OPERATION | flag::COPY | flag::FALLBACK | flag::TRACE | flag::TENSORS);
    let text = "Tracing Signposts is already enabled ";
    assert_eq!(start_trace("event", false).unwrap_err().to_string(), text);
    stop_trace();
    stop_trace();
    assert!(!is_tracing() && !waits_until_completed() && flags() == 0);
    let error = start_trace("event,graph", false).unwrap_err();
    assert_eq!(error.to_string(), "Invalid Signpost trace mode: graph");
    assert!(is_tracing(), "the words before a bad one stay in force");
    stop_trace();
    assert_eq!(initialize(), Ok(()));
    std::fs::remove_dir_all(folder).unwrap();
}

const SHOW: trace::Show =
    trace::Show { intervals: true, events: false, schedule: false, kernel_time: false, operations: true };
