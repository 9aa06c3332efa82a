//! The pool under load, with errors, panics, nested and concurrent launches, and after a fork.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::*;

/// Nanoseconds of work that call for every worker.
const LONG: u64 = 1_000_000;

#[test]
fn every_chunk_runs_once() {
    for chunks in [1, 2, 7, 100, 1000] {
        for _ in 0..200 {
            let counts: Vec<AtomicU32> = (0..chunks).map(|_| AtomicU32::new(0)).collect();
            let count = |chunk: u32| {
                counts[chunk as usize].fetch_add(1, Ordering::Relaxed);
                Ok(())
            };
            run(chunks, LONG, &count).unwrap();
            assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1), "{chunks} chunks");
        }
    }
}

#[test]
fn errors_and_panics_end_the_launch_and_spare_the_pool() {
    let fails = |chunk: u32| if chunk == 3 { Err("chunk three".to_owned()) } else { Ok(()) };
    assert_eq!(run(64, LONG, &fails), Err("chunk three".to_owned()));
    let panics = |chunk: u32| if chunk == 5 { panic!("chunk {chunk}") } else { Ok(()) };
    assert_eq!(run(64, LONG, &panics), Err("chunk 5".to_owned()));
    assert_eq!(run_inline(64, &panics), Err("chunk 5".to_owned()));
    assert_eq!(run(64, LONG, &|_| Ok(())), Ok(()));
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
                    run(16, LONG, &add).unwrap();
                }
            });
        }
    });
    assert_eq!(total.load(Ordering::Relaxed), 4 * 200 * (0..16).sum::<u64>());
}

#[test]
fn sleeping_workers_do_not_stop_a_launch() {
    run(8, LONG, &|_| Ok(())).unwrap();
    // Longer than the workers spin.
    std::thread::sleep(std::time::Duration::from_millis(5));
    let count = AtomicU32::new(0);
    let add = |_| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    run(8, LONG, &add).unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 8);
}

#[test]
fn a_forked_child_has_its_own_workers() {
    run(8, LONG, &|_| Ok(())).unwrap();
    // SAFETY: the child only launches on the pool and leaves by `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let count = AtomicU32::new(0);
        let add = |_| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        let is_right = run(8, LONG, &add).is_ok() && count.load(Ordering::Relaxed) == 8;
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
fn the_number_of_threads_comes_from_the_environment_and_the_limit() {
    for (asked, usual, most) in
        [("3", 3, 4), ("1", 1, 4), (" 5 , 2", 5, 5), ("100000", WORKERS_MAX + 1, WORKERS_MAX + 1)]
    {
        let configured = Configured::new(Some(asked), 4);
        assert_eq!((configured.threads(0), configured.threads(usize::MAX)), (usual, most), "OMP_NUM_THREADS={asked}");
        assert_eq!(configured.threads(2), 2, "a limit of 2 with OMP_NUM_THREADS={asked}");
    }
    for asked in [None, Some(""), Some("0"), Some("-1"), Some("many")] {
        assert_eq!(Configured::new(asked, 4).threads(0), 4, "OMP_NUM_THREADS={asked:?}");
    }
    let usual = thread_count();
    limit_threads(1);
    assert_eq!(thread_count(), 1);
    limit_threads(0);
    assert_eq!(thread_count(), usual);
}

/// Which threads take part in launches of `chunks` short chunks, with `workers` workers allowed.
fn participants(launch: &'static Launch, chunks: u32, workers: usize) -> usize {
    let seen = Mutex::new(std::collections::BTreeSet::new());
    let note = |_| {
        seen.lock().unwrap().insert(std::thread::current().name().unwrap_or("caller").to_owned());
        std::thread::sleep(std::time::Duration::from_micros(200));
        Ok(())
    };
    launch.run(chunks, workers, Wake::Everyone, &note).unwrap();
    seen.into_inner().unwrap().len()
}

#[test]
fn who_waits_takes_part_where_a_seat_is_free() {
    // Without workers that could take the seats.
    let launch: &'static Launch = Box::leak(Box::new(Launch::new()));
    for workers in [0, 1, 3] {
        let (is_over, ended) = (&AtomicU32::new(0), Mutex::new(Vec::new()));
        let by = Mutex::new(std::collections::BTreeSet::new());
        std::thread::scope(|scope| {
            for _ in 0..5 {
                scope.spawn(|| {
                    let mut joined = 0;
                    while is_over.load(Ordering::Acquire) == 0 {
                        joined += u32::from(launch.has_work(ASSISTANT) && launch.join(ASSISTANT));
                        std::thread::yield_now();
                    }
                    ended.lock().unwrap().push(joined);
                });
            }
            let note = |_| {
                by.lock().unwrap().insert(format!("{:?}", std::thread::current().id()));
                std::thread::sleep(std::time::Duration::from_millis(1));
                Ok(())
            };
            launch.run(100, workers, Wake::Nobody, &note).unwrap();
            is_over.store(1, Ordering::Release);
        });
        assert_eq!(ended.into_inner().unwrap().iter().sum::<u32>() as usize, workers, "seats that were taken");
        assert_eq!(by.into_inner().unwrap().len(), workers + 1);
    }
}

#[test]
fn workers_beyond_a_launch_s_number_leave_it_alone() {
    let pool: &'static Pool =
        Box::leak(Box::new(Pool { launch: Launch::new(), busy: Mutex::new(0), unheard: AtomicU64::new(0) }));
    pool.grow(&mut pool.busy.lock().unwrap(), 3);
    for round in 0..20 {
        let workers = round % 4;
        assert!(participants(&pool.launch, 16, workers) <= workers + 1, "{workers} workers");
    }
}

#[test]
fn small_launches_wake_workers_when_they_add_up() {
    let pool = Pool { launch: Launch::new(), busy: Mutex::new(0), unheard: AtomicU64::new(0) };
    let third = WAKING_NANOSECONDS / 3 + 1;
    let woken: Vec<Wake> = [third, third, third, third, 2 * WAKING_NANOSECONDS, 1].map(|work| pool.wake(work)).into();
    let expected = [Wake::Nobody, Wake::Nobody, Wake::Everyone, Wake::Nobody, Wake::Everyone, Wake::Nobody];
    assert_eq!(woken, expected);
}
