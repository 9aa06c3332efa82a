//! What happens when the program ends or is interrupted: the tables are printed once, and a trace is completed.
//!
//! A signal handler may do next to nothing, so the tables of an interrupt are printed by a thread of their own, for which the
//! handler waits a moment. PyTorch prints them inside of the handler, which can lock up.

use std::mem;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Once, OnceLock};
use std::thread;

use libc::{c_int, sigaction, sighandler_t, timespec};

use super::{finish, print_statistics};

/// Where the handler tells the printing thread to print.
static PIPE: OnceLock<[c_int; 2]> = OnceLock::new();
/// The process that has the printing thread: a forked child has none.
static PRINTER: AtomicU32 = AtomicU32::new(0);
/// Whether the tables are out.
static PRINTED: AtomicBool = AtomicBool::new(false);
/// The handler before ours.
static PREVIOUS: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);
/// Flags of the handler before ours.
static PREVIOUS_FLAGS: AtomicI32 = AtomicI32::new(0);

/// Turns of 10 ms for which the handler waits for the tables.
const PRINT_TURNS: u32 = 200;

/// Completes the trace and prints the tables when the process exits.
pub(super) fn install_at_exit() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // SAFETY: the function is `extern "C"`, lives as long as the program and does not unwind. The call fails only without
        // memory; then the end of the trace is what the writer had written.
        unsafe { libc::atexit(at_exit) };
    });
}

extern "C" fn at_exit() {
    finish();
}

/// Installs the handler of SIGINT; the first call does the work.
///
/// # Errors
/// When the system refuses.
pub(super) fn install_interrupt() -> Result<(), ()> {
    static INSTALLED: OnceLock<Result<(), ()>> = OnceLock::new();
    *INSTALLED.get_or_init(|| {
        start_printer()?;
        // SAFETY: all bytes zero are a valid `sigaction`: no flags, the default handler.
        let mut action: sigaction = unsafe { mem::zeroed() };
        action.sa_sigaction = on_interrupt as extern "C" fn(c_int) as sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        // SAFETY: the set is this function's own.
        unsafe { libc::sigfillset(&raw mut action.sa_mask) };
        // SAFETY: as above.
        let mut previous: sigaction = unsafe { mem::zeroed() };
        // SAFETY: both places are this function's own, and the handler keeps to what handlers may do.
        if unsafe { libc::sigaction(libc::SIGINT, &raw const action, &raw mut previous) } != 0 {
            return Err(());
        }
        PREVIOUS_FLAGS.store(previous.sa_flags, Ordering::Relaxed);
        PREVIOUS.store(previous.sa_sigaction, Ordering::Release);
        Ok(())
    })
}

fn start_printer() -> Result<(), ()> {
    let mut pipe = [0; 2];
    // SAFETY: the place holds two descriptors.
    if unsafe { libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(());
    }
    PIPE.get_or_init(|| pipe);
    thread::Builder::new()
        .name("mps statistics".into())
        .spawn(move || {
            let mut byte = 0u8;
            // SAFETY: one byte of this thread's own; the descriptor is open as long as the process lives.
            while unsafe { libc::read(pipe[0], (&raw mut byte).cast(), 1) } == 1 {
                print_statistics();
                PRINTED.store(true, Ordering::Release);
            }
        })
        .map_err(|_| ())?;
    PRINTER.store(std::process::id(), Ordering::Release);
    Ok(())
}

extern "C" fn on_interrupt(signal: c_int) {
    if PRINTER.load(Ordering::Acquire) == std::process::id()
        && let Some(pipe) = PIPE.get()
    {
        // SAFETY: one byte that lives as long as the program; `write` may be called in handlers.
        unsafe { libc::write(pipe[1], c"i".as_ptr().cast(), 1) };
        let moment = timespec { tv_sec: 0, tv_nsec: 10_000_000 };
        for _ in 0..PRINT_TURNS {
            if PRINTED.load(Ordering::Acquire) {
                break;
            }
            // SAFETY: the time is this function's own; `nanosleep` may be called in handlers.
            unsafe { libc::nanosleep(&raw const moment, std::ptr::null_mut()) };
        }
    }
    chain(signal);
}

/// What would have happened without us.
fn chain(signal: c_int) {
    match PREVIOUS.load(Ordering::Acquire) {
        libc::SIG_IGN => {}
        libc::SIG_DFL => {
            // SAFETY: restoring the default is what handlers may do; the signal arrives when this handler returns.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
            // SAFETY: as above.
            unsafe { libc::raise(signal) };
        }
        handler if PREVIOUS_FLAGS.load(Ordering::Relaxed) & libc::SA_SIGINFO == 0 => {
            // SAFETY: the system gave this address as that of a handler without SA_SIGINFO, which takes the number alone.
            let handler: extern "C" fn(c_int) = unsafe { mem::transmute(handler) };
            handler(signal);
        }
        // A handler that wants the signal's details, which this one does not have.
        _ => {}
    }
}

/// Keeps SIGXFSZ from the calling thread: a file that grows over its limit is an error of `write` then.
pub(super) fn block_file_size_signal() {
    // SAFETY: all bytes zero are a valid set.
    let mut set: libc::sigset_t = unsafe { mem::zeroed() };
    // SAFETY: the set is this function's own.
    unsafe { libc::sigemptyset(&raw mut set) };
    // SAFETY: as above.
    unsafe { libc::sigaddset(&raw mut set, libc::SIGXFSZ) };
    // SAFETY: as above; the old set is not asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
}
