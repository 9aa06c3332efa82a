use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use openmps_engine::{
    Bindings, CompiledKernel, Completion, DispatchError, Engine, EngineOptions, Grid, KernelProperties,
    KernelSignature, VerifiedAir, recording::RecordingEngine,
};

use super::*;

/// A pool stream that no other test uses.
fn own_stream(id: u32) -> Stream {
    Stream::with_id(id).expect("tests use ids up to 32")
}

/// A command that blocks its stream until the sender is dropped or used.
fn gate() -> (mpsc::Sender<()>, Command) {
    let (open, wait) = mpsc::channel::<()>();
    let command = Command::host("gate", move || {
        let _ = wait.recv();
        Ok(())
    });
    (open, command)
}

fn signature(name: &str) -> KernelSignature {
    KernelSignature::new(name, vec![])
}

const ONE_THREAD: Grid = Grid { threads: [1; 3], group: [1; 3] };

#[test]
fn the_pool_hands_out_32_streams_in_turns() {
    let ids: Vec<u32> = (0..66).map(|_| Stream::from_pool().id().0).collect();
    assert!(ids.iter().all(|&id| (1..=32).contains(&id)));
    assert!(ids.windows(2).all(|pair| pair[1] == pair[0] % 32 + 1), "{ids:?}");
    assert_eq!(Stream::with_id(33), None);
    assert_eq!(Stream::with_id(0), Some(Stream::default_stream()));
}

#[test]
fn the_current_stream_belongs_to_the_thread() {
    assert_eq!(current_id(), StreamId(0));
    let before = own_stream(3).set_current();
    assert_eq!((before.id(), current_id()), (StreamId(0), StreamId(3)));
    assert_eq!(thread::spawn(current_id).join().unwrap(), StreamId(0));
    assert_eq!(before.set_current(), own_stream(3));
    assert_eq!(Stream::current(), Stream::default_stream());
}

#[test]
fn encoding_does_not_wait_and_positions_complete_in_order() {
    let stream = own_stream(4);
    assert!(stream.is_idle() && stream.reached(0));
    let (open, command) = gate();
    let first = stream.encode(command);
    let second = stream.encode(Command::host("nothing", || Ok(())));
    assert_eq!((first, second, stream.position()), (1, 2, 2));
    assert!(!stream.is_idle() && any_pending());
    assert!(!stream.reached(first));
    drop(open);
    stream.synchronize().unwrap();
    assert!(stream.is_idle() && stream.reached(second));
}

#[test]
fn commands_run_in_order_with_many_encoders() {
    const THREADS: u64 = 4;
    const EACH: u64 = 20_000;
    let stream = own_stream(5);
    let seen: Arc<Mutex<Vec<(u64, u64)>>> = Arc::default();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let seen = &seen;
            scope.spawn(move || {
                for number in 0..EACH {
                    let seen = Arc::clone(seen);
                    stream.encode(Command::host("note", move || {
                        seen.lock().unwrap().push((thread, number));
                        Ok(())
                    }));
                    if number % 1000 == 0 {
                        stream.synchronize().unwrap();
                    }
                }
            });
        }
    });
    stream.synchronize().unwrap();
    assert_eq!(stream.position(), THREADS * EACH);
    let seen = seen.lock().unwrap();
    for thread in 0..THREADS {
        let numbers = seen.iter().filter(|(from, _)| *from == thread).map(|(_, number)| *number);
        assert!(numbers.eq(0..EACH), "thread {thread}");
    }
}

#[test]
fn encoding_waits_when_too_much_is_queued() {
    let stream = own_stream(29);
    let (open, command) = gate();
    stream.encode(command);
    let nothing = || Command::host("nothing", || Ok(()));
    for _ in 1..STREAM_COMMANDS_MAX {
        stream.encode(nothing());
    }
    let opener = thread::spawn(move || {
        thread::sleep(Duration::from_millis(5));
        drop(open);
    });
    let position = stream.encode(nothing());
    assert_eq!(position, STREAM_COMMANDS_MAX + 1);
    assert!(stream.reached(STREAM_COMMANDS_MAX / 2));
    opener.join().unwrap();
    stream.synchronize().unwrap();
}

#[test]
fn every_synchronize_sees_what_was_encoded_before() {
    let stream = own_stream(6);
    let counter = Arc::new(AtomicU64::new(0));
    for round in 1..=5_000 {
        let counter_of_command = Arc::clone(&counter);
        stream.encode(Command::host("count", move || {
            counter_of_command.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }));
        if round % 7 == 0 {
            // Long enough for the worker to fall asleep.
            thread::sleep(Duration::from_micros(200));
        }
        stream.wait_idle();
        assert_eq!(counter.load(Ordering::Relaxed), round);
    }
}

#[test]
fn the_first_error_is_deferred_and_reported_once() {
    let stream = own_stream(7);
    let failing = |text: &'static str| Command::host("fail", move || Err(StreamError::internal(text)));
    stream.encode(failing("first"));
    stream.encode(failing("second"));
    stream.wait_idle();
    assert_eq!(
        stream.synchronize().unwrap_err().to_string(),
        "MPS command buffer execution failed: first. This error may have been asynchronously reported, so the stack trace below \
         might be incorrect."
    );
    assert_eq!(stream.synchronize(), Ok(()));
    stream.encode(failing("third"));
    let error = stream.synchronize().unwrap_err();
    assert_eq!(error, StreamError::Execution { is_oom: false, code: 1, message: "third".into() });
}

#[test]
fn a_panic_ends_its_command_only() {
    let stream = own_stream(8);
    stream.encode(Command::host("panic", || panic!("of value {}", 7)));
    let ran = Arc::new(AtomicUsize::new(0));
    let ran_of_command = Arc::clone(&ran);
    stream.encode(Command::host("after", move || {
        ran_of_command.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }));
    let error = stream.synchronize().unwrap_err();
    assert_eq!(error.message(), "command stopped by a panic: of value 7");
    assert_eq!(ran.load(Ordering::Relaxed), 1);
}

#[test]
fn kernel_messages_come_before_failed_commands() {
    let stream = own_stream(9);
    stream.encode(Command::host("report", move || {
        stream.queue().errors.write(260, b"index 9 is out of bounds\0");
        stream.queue().errors.write(0, &1u32.to_le_bytes());
        Err(StreamError::internal("failed as well"))
    }));
    assert_eq!(stream.error_buffer_address() % 256, 0);
    assert_eq!(stream.synchronize().unwrap_err().message(), "index 9 is out of bounds");
    assert_eq!(stream.synchronize().unwrap_err().message(), "failed as well");
    assert_eq!(stream.synchronize(), Ok(()));
}

#[test]
fn a_command_may_wait_for_its_own_stream() {
    let stream = own_stream(10);
    let (send, receive) = mpsc::channel();
    let last = stream.encode(Command::host("inner", move || {
        let inner = stream.encode(Command::host("queued", || Ok(())));
        stream.wait_idle();
        send.send(inner).unwrap();
        Ok(())
    }));
    assert_eq!(receive.recv().unwrap(), last + 1);
    stream.synchronize().unwrap();
    stream.wait_idle();
    assert!(stream.reached(last + 1));
}

#[test]
fn copies_move_bytes_in_order_of_the_stream() {
    let stream = own_stream(11);
    let mut bytes = *b"abcdef..";
    let address = bytes.as_mut_ptr();
    // SAFETY: both ranges lie in `bytes`, which lives until after the stream is idle.
    stream.encode(unsafe { Command::copy(address, address.wrapping_add(2), 6) });
    // SAFETY: as above.
    stream.encode(unsafe { Command::copy(address.wrapping_add(4), address, 2) });
    stream.synchronize().unwrap();
    assert_eq!(bytes, *b"cdabcdef");
}

#[test]
fn a_queued_command_retains_its_blocks() {
    let stream = own_stream(28);
    let allocator = crate::memory::allocator().unwrap();
    let block = allocator.allocate(1000, crate::memory::Usage::Device).unwrap();
    let address = block.as_ptr().cast_const();
    let count = || allocator.block(address).unwrap().retain_count;
    let idle = count();
    let (open, command) = gate();
    stream.encode(command);
    let own = 0_u8;
    let retained = Retained::blocks(&[address, &raw const own]);
    stream.encode(Command::host("uses the block", || Ok(())).retaining(retained));
    assert_eq!(count(), idle + 1);
    drop(open);
    stream.synchronize().unwrap();
    assert_eq!(count(), idle);
    // SAFETY: allocated above, and every command that used it has run.
    unsafe { allocator.free(block) };
}

#[test]
fn dispatches_reach_the_engine_in_order() {
    let engine = RecordingEngine::default();
    let air = VerifiedAir::from_verifier(&b""[..]);
    let kernel = engine.compile(&air, &signature("k"), &EngineOptions::default()).unwrap();
    let stream = own_stream(12);
    for threads in 1..=100 {
        let grid = Grid { threads: [threads, 1, 1], group: [1, 1, 1] };
        stream.encode(Command::dispatch(Arc::clone(&kernel), Bindings::default(), grid));
    }
    stream.synchronize().unwrap();
    let sizes = engine.dispatches().into_iter().map(|dispatch| dispatch.grid.threads[0]);
    assert!(sizes.eq(1..=100));
}

/// A kernel whose dispatch ends as the test says.
struct Odd {
    signature: KernelSignature,
    dispatch: fn(Completion),
}

impl CompiledKernel for Odd {
    fn signature(&self) -> &KernelSignature {
        &self.signature
    }

    fn properties(&self) -> KernelProperties {
        KernelProperties {
            max_total_threads_per_threadgroup: 1024,
            thread_execution_width: 32,
            static_threadgroup_memory_length: 0,
        }
    }

    fn dispatch(&self, _: &Bindings, _: &Grid, completion: Completion) {
        (self.dispatch)(completion);
    }
}

#[test]
fn engines_may_finish_elsewhere_fail_panic_or_forget() {
    let stream = own_stream(13);
    let run = |dispatch: fn(Completion)| {
        let kernel = Arc::new(Odd { signature: signature("odd"), dispatch });
        stream.encode(Command::dispatch(kernel, Bindings::default(), ONE_THREAD));
        stream.synchronize().map_err(|error| error.message().to_owned())
    };
    let elsewhere = run(|completion| {
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(2));
            completion(Ok(()));
        });
    });
    assert_eq!(elsewhere, Ok(()));
    let unbound = || DispatchError::Unbound { kernel: "odd".into(), index: 2, argument: "x".into() };
    let failed = run(|completion| {
        completion(Err(DispatchError::Unbound { kernel: "odd".into(), index: 2, argument: "x".into() }));
    });
    assert_eq!(failed, Err(unbound().to_string()));
    let forgotten = run(drop);
    assert_eq!(forgotten, Err("kernel 'odd': the engine gave the dispatch up without a result".into()));
    let panicked = run(|_completion| panic!("in the engine"));
    assert_eq!(panicked, Err("command stopped by a panic: in the engine".into()));
    assert_eq!(run(|completion| completion(Ok(()))), Ok(()));
}

#[test]
fn synchronize_all_waits_for_all_and_reports_one_stream_at_a_time() {
    // The default stream and the pool streams 14 and 15; other tests clean up their own errors.
    let streams = [own_stream(14), own_stream(15)];
    let ran = Arc::new(AtomicUsize::new(0));
    for stream in streams {
        let ran = Arc::clone(&ran);
        stream.encode(Command::host("slow", move || {
            thread::sleep(Duration::from_millis(5));
            ran.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }));
    }
    wait_idle_all();
    assert_eq!(ran.load(Ordering::Relaxed), 2);
}

/// Runs `child` in a forked process and returns its exit status.
fn in_child(child: impl FnOnce() -> bool) -> i32 {
    // SAFETY: the child calls only `child` and `_exit`; locks of this crate are free in it by the handlers under test, and
    // the C library's own are by its handlers.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork failed");
    if pid == 0 {
        let code = i32::from(!child());
        // SAFETY: ends the child without running the test harness's exit code.
        unsafe { libc::_exit(code) };
    }
    let mut status = 0;
    // SAFETY: `status` is valid for a write, and `pid` is this process's child.
    let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
    assert_eq!(waited, pid);
    status
}

#[test]
fn a_forked_child_starts_with_idle_streams_and_works() {
    let stream = own_stream(16);
    let (open, command) = gate();
    stream.encode(command);
    let queued = stream.encode(Command::host("fails", || Err(StreamError::internal("of the parent"))));
    for _ in 0..20 {
        let status = in_child(|| {
            let idle = stream.is_idle() && !any_pending() && stream.reached(queued);
            let clean = stream.synchronize().is_ok();
            let (send, receive) = mpsc::channel();
            let position = stream.encode(Command::host("in the child", move || {
                send.send(17).map_err(|_| StreamError::internal("nobody listens"))
            }));
            let ran = stream.synchronize().is_ok() && receive.recv() == Ok(17);
            idle && clean && ran && position == queued + 1
        });
        assert_eq!(status, 0);
    }
    assert!(!stream.is_idle(), "the parent's queue is as it was");
    drop(open);
    assert_eq!(stream.synchronize().unwrap_err().message(), "of the parent");
}
