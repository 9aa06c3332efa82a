//! The pool under load, with errors, panics, nested and concurrent launches, and after a fork.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::*;

#[test]
fn every_chunk_runs_once() {
    for chunks in [1, 2, 7, 100, 1000] {
        for _ in 0..200 {
            let counts: Vec<AtomicU32> = (0..chunks).map(|_| AtomicU32::new(0)).collect();
            let count = |chunk: u32| {
                counts[chunk as usize].fetch_add(1, Ordering::Relaxed);
                Ok(())
            };
            run(chunks, &count).unwrap();
            assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1), "{chunks} chunks");
        }
    }
}

#[test]
fn errors_and_panics_end_the_launch_and_spare_the_pool() {
    let fails = |chunk: u32| if chunk == 3 { Err("chunk three".to_owned()) } else { Ok(()) };
    assert_eq!(run(64, &fails), Err("chunk three".to_owned()));
    let panics = |chunk: u32| if chunk == 5 { panic!("chunk {chunk}") } else { Ok(()) };
    assert_eq!(run(64, &panics), Err("chunk 5".to_owned()));
    assert_eq!(run_inline(64, &panics), Err("chunk 5".to_owned()));
    assert_eq!(run(64, &|_| Ok(())), Ok(()));
}

#[test]
fn concurrent_launches_all_finish() {
    let total = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let add = |chunk: u32| {
                        total.fetch_add(u64::from(chunk), Ordering::Relaxed);
                        Ok(())
                    };
                    run(16, &add).unwrap();
                }
            });
        }
    });
    assert_eq!(total.load(Ordering::Relaxed), 4 * 200 * (0..16).sum::<u64>());
}

#[test]
fn sleeping_workers_do_not_stop_a_launch() {
    run(8, &|_| Ok(())).unwrap();
    // Longer than the workers spin.
    std::thread::sleep(std::time::Duration::from_millis(5));
    let count = AtomicU32::new(0);
    let add = |_| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    run(8, &add).unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 8);
}

#[test]
fn a_forked_child_has_its_own_workers() {
    run(8, &|_| Ok(())).unwrap();
    // SAFETY: the child only launches on the pool and leaves by `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let count = AtomicU32::new(0);
        let add = |_| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        let is_right = run(8, &add).is_ok() && count.load(Ordering::Relaxed) == 8;
        // SAFETY: ends the child without the parent's exit handlers.
        unsafe { libc::_exit(i32::from(!is_right)) };
    }
    assert!(child > 0);
    let mut status = -1;
    // SAFETY: waits for the child that was just made; `status` outlives the call.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!((waited, status), (child, 0));
}

#[test]
fn a_limit_holds() {
    super::limit_threads(1);
    assert_eq!(super::configured_threads(), 1);
    super::limit_threads(0);
    assert_eq!(super::configured_threads(), 1);
    super::limit_threads(usize::MAX);
    assert!(super::configured_threads() >= 1);
}
