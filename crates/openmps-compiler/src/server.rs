//! The server: answers requests on its standard input, a socket, until that ends or nothing comes for a while.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Sender};
use std::thread;

use openmps_cpu::{CodeGenerator, LlvmCodeGenerator};
use openmps_engine::{ConstantValues, EngineError, LoadedAir, SourceCompiler, VerifiedAir};
use openmps_msl::{MslCompiler, PendingHeader};

use crate::limits::{OUT_OF_MEMORY_STATUS, STACK_BYTES};
use crate::protocol::{Request, Response, decode, encode, read_frame, write_frame};

/// An idle server holds some 100 MB; the client starts another when it needs one.
const IDLE_MS_MAX: i32 = 120_000;

/// Serves until the client is gone, in `memory_bytes_max` bytes of address space.
///
/// # Errors
/// Those of the socket, a request that is none, and a limit that the operating system refuses.
pub fn serve(compiler: &MslCompiler, socket: UnixStream, memory_bytes_max: Option<u64>) -> io::Result<()> {
    ignore_interrupts();
    memory_bytes_max.map_or(Ok(()), limit_memory)?;
    end_with_the_client(socket.try_clone()?)?;
    let (sender, receiver) = mpsc::channel::<PendingHeader>();
    thread::scope(|scope| {
        // What makes the next compilation faster must not make this one slower.
        let headers = thread::Builder::new().name("headers".to_owned());
        headers.spawn_scoped(scope, move || {
            for pending in receiver {
                // Without the header compilations are slower, and right.
                let _ = compiler.driver().build_pending(&pending);
            }
        })?;
        let answer = thread::Builder::new().name("answer".to_owned()).stack_size(STACK_BYTES);
        let thread = answer.spawn_scoped(scope, move || answer_all(compiler, socket, &sender))?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Lets other processes go before this one, as `nice` counts.
pub fn give_way(niceness: i32) {
    // SAFETY: the call changes the priority of this process alone. It cannot fail for a number above zero.
    unsafe { libc::nice(niceness) };
}

fn answer_all(compiler: &MslCompiler, mut socket: UnixStream, headers: &Sender<PendingHeader>) -> io::Result<()> {
    while wait_readable(&socket)? {
        let Some(frame) = read_frame(&mut socket)? else { return Ok(()) };
        let response = answer(compiler, decode(&frame)?);
        write_frame(&mut socket, &encode(&response)?)?;
        if let Some(pending) = compiler.driver().take_pending() {
            // The receiver is gone only if its thread has panicked.
            let _ = headers.send(pending);
        }
        if compiler.has_crashed() {
            // Clang's state is undefined now; the client starts a new process.
            return Ok(());
        }
    }
    Ok(())
}

fn answer(compiler: &MslCompiler, request: Request) -> Response {
    match request {
        Request::CompileSource { source, options } => Response::Source(compiler.compile_source(&source, &options)),
        Request::LoadAir { bitcode } => Response::Air(load(&bitcode)),
        Request::Specialize { air, kernel, values } => Response::Air(specialize(&air, &kernel, &values)),
        Request::BuildObject { air, signature, options } => {
            Response::Object(LlvmCodeGenerator.generate(&air, &signature, &options))
        }
        Request::CompileWithLines { source, options } => {
            Response::Source(compiler.compile_with_lines(&source, &options))
        }
        Request::CountAir { air, kernel } => Response::Counting(openmps_air::count(&air, &kernel).map_err(invalid)),
        Request::SplitAir { air, kernels } => Response::Modules(split(&air, &kernels)),
        Request::PrintAir { air } => Response::Text(print(&air)),
        Request::PrintCode { air, signature, options } => {
            Response::Text(LlvmCodeGenerator.assembly(&air, &signature, &options))
        }
    }
}

fn split(air: &VerifiedAir, kernels: &[String]) -> Result<Vec<VerifiedAir>, EngineError> {
    openmps_air::split(air, kernels).map_err(|error| EngineError::Invalid(error.to_string()))
}

fn print(air: &VerifiedAir) -> Result<String, EngineError> {
    let context = openmps_llvm::Context::new();
    let module = context.parse_bitcode(air.bitcode()).map_err(|error| EngineError::Internal(error.to_string()))?;
    Ok(module.to_string())
}

/// Refuses this process more address space than `bytes`, or than the system's limit if that is lower (`ulimit -v`). What cannot
/// do without ends it with a status that says so.
fn limit_memory(bytes: u64) -> io::Result<()> {
    openmps_llvm::memory::exit_when_out_of_memory(OUT_OF_MEMORY_STATUS);
    let mut limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: the pointer is to a live structure that the call only writes.
    if unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // No limit is the largest number.
    limit = libc::rlimit { rlim_cur: limit.rlim_cur.min(bytes), rlim_max: limit.rlim_max.min(bytes) };
    // SAFETY: the pointer is to a live structure that the call only reads.
    if unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn load(bitcode: &[u8]) -> Result<LoadedAir, EngineError> {
    let (air, kernels) = openmps_air::verify_and_reflect(bitcode).map_err(invalid)?;
    Ok(LoadedAir { air, kernels })
}

fn specialize(air: &VerifiedAir, kernel: &str, values: &ConstantValues) -> Result<LoadedAir, EngineError> {
    let (air, signature) = openmps_air::specialize(air, kernel, values).map_err(invalid)?;
    Ok(LoadedAir { air, kernels: vec![signature] })
}

fn invalid(error: openmps_air::Error) -> EngineError {
    EngineError::Invalid(error.to_string())
}

/// An interrupt from the terminal is for the client, whose end this process notices by itself.
fn ignore_interrupts() {
    // SAFETY: ignoring a signal installs no handler, so nothing runs in signal context.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
}

/// Ends this process as soon as the client is gone, also in the middle of a compilation that may take for ever: nobody
/// would read the answer.
fn end_with_the_client(socket: UnixStream) -> io::Result<()> {
    let watch = move || {
        // No events asked for: only the other side's end is reported, which needs no asking.
        let mut entry = libc::pollfd { fd: socket.as_raw_fd(), events: 0, revents: 0 };
        loop {
            // SAFETY: the pointer is to one live entry, as the count says.
            let ready = unsafe { libc::poll(&mut entry, 1, -1) };
            if ready == 1 {
                // SAFETY: it never returns. No destructor of the thread that compiles may run while it does.
                unsafe { libc::_exit(0) };
            }
        }
    };
    thread::Builder::new().name("client-watch".to_owned()).spawn(watch).map(drop)
}

/// Whether something came before the time was over.
fn wait_readable(socket: &UnixStream) -> io::Result<bool> {
    let mut entry = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    loop {
        // SAFETY: the pointer is to one live entry, as the count says.
        let ready = unsafe { libc::poll(&mut entry, 1, IDLE_MS_MAX) };
        match ready {
            0 => return Ok(false),
            1.. => return Ok(true),
            _ => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
}
