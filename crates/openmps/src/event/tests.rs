use std::sync::atomic::AtomicUsize;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::*;

/// A pool of the test's own, so that ids are known.
fn pool() -> EventPool {
    EventPool { events: Mutex::new(Events::default()) }
}

fn stream(id: u32) -> Stream {
    Stream::with_id(id).expect("tests use ids up to 32")
}

/// Blocks `stream` until the sender is dropped.
fn block(stream: Stream) -> mpsc::Sender<()> {
    let (open, wait) = mpsc::channel::<()>();
    stream.encode(Command::host("gate", move || {
        let _ = wait.recv();
        Ok(())
    }));
    open
}

#[test]
fn ids_start_at_one_and_return_last_in_first_out() {
    let pool = pool();
    assert_eq!([pool.acquire(false), pool.acquire(true), pool.acquire(false)], [1, 2, 3]);
    pool.release(1).unwrap();
    pool.release(3).unwrap();
    assert_eq!([pool.acquire(false), pool.acquire(false), pool.acquire(false)], [3, 1, 4]);
}

#[test]
fn ids_that_are_not_acquired_are_refused_everywhere() {
    let pool = pool();
    let released = pool.acquire(false);
    pool.release(released).unwrap();
    for id in [0, released, 7] {
        let text = format!("Invalid Event ID: {id}");
        let results = [
            pool.release(id),
            pool.record(id, stream(17)),
            pool.record_without_commit(id, stream(17)),
            pool.wait(id, stream(17)),
            pool.query(id).map(|_| ()),
            pool.synchronize(id),
            pool.elapsed_ms(id, id).map(|_| ()),
        ];
        for result in results {
            assert_eq!(result.unwrap_err().to_string(), text);
        }
    }
}

#[test]
fn an_unrecorded_event_is_not_done_and_nobody_waits_for_it() {
    let pool = pool();
    let id = pool.acquire(false);
    assert_eq!(pool.query(id), Ok(false));
    pool.synchronize(id).unwrap();
    let before = stream(17).position();
    pool.wait(id, stream(17)).unwrap();
    assert_eq!(stream(17).position(), before);
}

#[test]
fn query_and_synchronize_follow_the_last_record() {
    let pool = pool();
    let id = pool.acquire(false);
    let open = block(stream(18));
    pool.record(id, stream(18)).unwrap();
    assert_eq!(pool.query(id), Ok(false));
    drop(open);
    pool.synchronize(id).unwrap();
    assert_eq!(pool.query(id), Ok(true));

    let open = block(stream(18));
    pool.record(id, stream(18)).unwrap();
    assert_eq!(pool.query(id), Ok(false), "recording again asks anew");
    drop(open);
    pool.synchronize(id).unwrap();

    pool.release(id).unwrap();
    assert_eq!(pool.acquire(false), id);
    assert_eq!(pool.query(id), Ok(false), "acquiring again forgets the record");
}

#[test]
fn a_stream_waits_for_another() {
    let pool = pool();
    let (first, second) = (stream(19), stream(20));
    for round in 0..500 {
        let id = pool.acquire(false);
        let step = Arc::new(AtomicUsize::new(0));
        let (seen_first, seen_second) = (Arc::clone(&step), Arc::clone(&step));
        first.encode(Command::host("first", move || {
            if round % 50 == 0 {
                thread::sleep(Duration::from_millis(1));
            }
            seen_first.store(1, Ordering::Relaxed);
            Ok(())
        }));
        pool.record(id, first).unwrap();
        pool.wait(id, second).unwrap();
        second.encode(Command::host("second", move || {
            let seen = seen_second.load(Ordering::Relaxed);
            if seen == 1 {
                Ok(())
            } else {
                Err(StreamError::Execution { is_oom: false, code: 1, message: "early".into() })
            }
        }));
        second.synchronize().unwrap();
        pool.release(id).unwrap();
    }
}

#[test]
fn binding_to_another_stream_does_not_mix_signals() {
    let pool = pool();
    let id = pool.acquire(false);
    for _ in 0..3 {
        pool.record(id, stream(21)).unwrap();
    }
    pool.synchronize(id).unwrap();
    let late = block(stream(21));
    pool.record(id, stream(21)).unwrap();
    let open = block(stream(22));
    pool.record(id, stream(22)).unwrap();
    drop(late);
    stream(21).wait_idle();
    assert_eq!(pool.query(id), Ok(false), "the old stream's signals do not count");
    drop(open);
    pool.synchronize(id).unwrap();
    assert_eq!(pool.query(id), Ok(true));
}

#[test]
fn elapsed_time_checks_in_order_and_measures() {
    let pool = pool();
    let (plain, start, end) = (pool.acquire(false), pool.acquire(true), pool.acquire(true));
    let text = |result: Result<f64, EventError>| result.unwrap_err().to_string();
    assert_eq!(text(pool.elapsed_ms(start, 99)), "Invalid Event ID: 99");
    let no_timing = "Events were not created with argument 'enable_timing=True'";
    assert_eq!(text(pool.elapsed_ms(plain, end)), no_timing);
    assert_eq!(text(pool.elapsed_ms(start, plain)), no_timing);
    let unrecorded = "Both events must be recorded before calculating elapsed time";
    assert_eq!(text(pool.elapsed_ms(start, end)), unrecorded);

    let work = stream(23);
    pool.record(start, work).unwrap();
    assert_eq!(text(pool.elapsed_ms(start, end)), unrecorded);
    work.encode(Command::host("sleep", || {
        thread::sleep(Duration::from_millis(3));
        Ok(())
    }));
    let began = Instant::now();
    pool.record(end, work).unwrap();
    let elapsed = pool.elapsed_ms(start, end).unwrap();
    // The worker may have slept before the clock here started, never for less than asked.
    assert!(elapsed >= 3.0, "{elapsed} ms");
    assert!(elapsed <= began.elapsed().as_secs_f64() * 1e3 + 1e3, "{elapsed} ms");
    assert_eq!(pool.elapsed_ms(start, start), Ok(0.0));
    assert_eq!(
        text(pool.elapsed_ms(end, start)),
        format!("End event {start} was not recorded after start event {end}")
    );
}

#[test]
fn timing_follows_the_newest_record() {
    let pool = pool();
    let (start, end) = (pool.acquire(true), pool.acquire(true));
    pool.record(end, stream(24)).unwrap();
    pool.record(start, stream(24)).unwrap();
    thread::sleep(Duration::from_millis(1));
    pool.record(end, stream(24)).unwrap();
    assert!(pool.elapsed_ms(start, end).unwrap() > 0.0);
}

#[test]
fn timing_needs_a_commit() {
    let pool = pool();
    let (timed, plain) = (pool.acquire(true), pool.acquire(false));
    let error = pool.record_without_commit(timed, stream(24)).unwrap_err();
    assert_eq!(error.to_string(), "Timing-enabled MPS events must commit when recorded");
    pool.record_without_commit(plain, stream(24)).unwrap();
    pool.synchronize(plain).unwrap();
}

#[test]
fn a_signal_lost_by_a_fork_counts_as_done_but_has_no_time() {
    let pool = pool();
    let (start, end) = (pool.acquire(true), pool.acquire(true));
    let open = block(stream(25));
    pool.record(start, stream(25)).unwrap();
    pool.record(end, stream(25)).unwrap();
    pool.lock().reset_after_fork();
    assert_eq!(pool.query(end), Ok(true));
    let error = pool.elapsed_ms(start, end).unwrap_err();
    assert_eq!(error.to_string(), "MPS event timing failed because the GPU work for an event did not complete");
    drop(open);
    stream(25).wait_idle();
    pool.record(end, stream(25)).unwrap();
    pool.synchronize(end).unwrap();
}
