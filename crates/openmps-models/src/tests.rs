//! A caller and its workers in every order.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use loom::thread;

use super::Wake;
use super::launch::Launch;
use super::worker::{WakeUp, serve_once};

/// At most `preemptions` times a thread is interrupted where it does not wait: with more the runs take hours and find the same.
fn model(preemptions: usize, run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(run);
}

/// A launch of `chunks` that counts its chunks in a place of its own, which is gone afterwards.
fn launch(launch: &Launch, chunks: u32, workers: usize, wake: Wake) {
    let counts: Vec<AtomicU32> = (0..chunks).map(|_| AtomicU32::new(0)).collect();
    let count = |chunk: u32| {
        counts[chunk as usize].fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    launch.run(chunks, workers, wake, &count).unwrap();
    assert!(
        counts.iter().all(|count| count.load(Ordering::Relaxed) == 1),
        "every chunk once, before the launch returns"
    );
}

#[test]
fn chunks_run_once_and_late_workers_take_nothing_of_the_next_launch() {
    model(2, || {
        let shared = Arc::new(Launch::new());
        let its = Arc::clone(&shared);
        let worker = thread::spawn(move || {
            for _ in 0..2 {
                if its.has_work(1) {
                    its.join(1);
                }
            }
        });
        launch(&shared, 2, 1, Wake::Nobody);
        launch(&shared, 1, 1, Wake::Nobody);
        worker.join().unwrap();
    });
}

#[test]
fn of_a_worker_and_one_who_waits_the_first_takes_the_only_seat() {
    model(2, || {
        let shared = Arc::new(Launch::new());
        let both: Vec<_> = [(), ()]
            .map(|()| {
                let its = Arc::clone(&shared);
                thread::spawn(move || its.has_work(1) && its.join(1))
            })
            .into();
        launch(&shared, 2, 1, Wake::Nobody);
        let joined = both.into_iter().map(|thread| thread.join().unwrap()).filter(|&joined| joined).count();
        assert!(joined <= 1, "{joined} threads in one seat");
    });
}

#[test]
fn two_workers_share_a_launch() {
    model(2, || {
        let shared = Arc::new(Launch::new());
        let workers: Vec<_> = [1, 2]
            .map(|number| {
                let its = Arc::clone(&shared);
                thread::spawn(move || its.take_part(number))
            })
            .into();
        // The second worker is above the limit.
        launch(&shared, 2, 1, Wake::Nobody);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

#[test]
fn an_error_ends_a_launch_and_the_next_one_is_clean() {
    model(2, || {
        let shared = Arc::new(Launch::new());
        let its = Arc::clone(&shared);
        let worker = thread::spawn(move || its.take_part(1));
        let fails = |chunk: u32| if chunk == 0 { Err("chunk zero".to_owned()) } else { Ok(()) };
        assert_eq!(shared.run(2, 1, Wake::Nobody, &fails), Err("chunk zero".to_owned()));
        launch(&shared, 1, 1, Wake::Nobody);
        worker.join().unwrap();
    });
}

#[test]
fn no_announcement_is_slept_through() {
    model(3, || {
        let shared = Arc::new((WakeUp::new(), AtomicBool::new(false)));
        let its = Arc::clone(&shared);
        let sleeper = thread::spawn(move || {
            let (wake_up, is_there) = &*its;
            loop {
                let seen = wake_up.seen();
                if is_there.load(Ordering::Acquire) {
                    break;
                }
                // Loom tells of threads that sleep for ever.
                wake_up.sleep(seen);
            }
        });
        let (wake_up, is_there) = &*shared;
        is_there.store(true, Ordering::Release);
        wake_up.announce();
        sleeper.join().unwrap();
    });
}

#[test]
fn a_worker_that_sleeps_is_woken_by_a_launch() {
    model(2, || {
        let shared = Arc::new(Launch::new());
        let is_served = Arc::new(AtomicBool::new(false));
        let (its, its_word) = (Arc::clone(&shared), Arc::clone(&is_served));
        let worker = thread::spawn(move || {
            serve_once(&its, 1);
            its_word.store(true, Ordering::Release);
        });
        launch(&shared, 2, 1, Wake::Everyone);
        // A worker that came after the launch sleeps until the next announcement.
        if !is_served.load(Ordering::Acquire) {
            shared.wake_up.announce();
        }
        while !is_served.load(Ordering::Acquire) {
            shared.wake_up.announce();
            thread::yield_now();
        }
        worker.join().unwrap();
    });
}
