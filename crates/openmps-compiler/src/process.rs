//! The compiler process: started when needed, reused, replaced when it died, never shared across a fork.
//!
//! The two sides talk over a socket that is the server's standard input. Its standard error is a file in memory, read
//! only to explain why it died. What a request may cost is bounded by [`ProcessLimits`]: this side watches the time, the
//! server keeps to the memory that it is given.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::limits::{MEMORY_BYTES_MAX_DEFAULT, OUT_OF_MEMORY_STATUS, TIME_MAX_DEFAULT};
use crate::protocol::{read_frame, write_frame};

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum ProcessError {
    /// The executable cannot be started.
    #[error("cannot start the compiler process {executable}: {reason}")]
    Start {
        /// Its path.
        executable: String,
        /// The operating system's words.
        reason: String,
    },
    /// It died on this request.
    #[error("the compiler process {how} while {purpose}{output}")]
    Died {
        /// Exit status or signal.
        how: String,
        /// What it was doing.
        purpose: String,
        /// What it had printed, after a colon.
        output: String,
    },
    /// It took too long, and was ended.
    #[error(
        "the compiler process was stopped after {} s while {purpose}; OPENMPS_COMPILER_TIME_LIMIT sets the limit",
        limit.as_secs_f64()
    )]
    TimeLimit {
        /// How long it had.
        limit: Duration,
        /// What it was doing.
        purpose: String,
    },
    /// It was refused memory.
    #[error(
        "the compiler process needs more than {limit_bytes} bytes of memory while {purpose}; \
         OPENMPS_COMPILER_MEMORY_LIMIT sets the limit"
    )]
    MemoryLimit {
        /// Address space that it had.
        limit_bytes: u64,
        /// What it was doing.
        purpose: String,
    },
    /// Its answer is not one.
    #[error("the compiler process gave an answer that cannot be read: {0}")]
    Answer(String),
}

/// What one request may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessLimits {
    /// Time on the clock from request to answer; waiting for other threads' requests does not count.
    pub time: Duration,
    /// Address space of the process, in bytes.
    pub memory_bytes: u64,
}

impl Default for ProcessLimits {
    fn default() -> Self {
        Self { time: TIME_MAX_DEFAULT, memory_bytes: MEMORY_BYTES_MAX_DEFAULT }
    }
}

/// The server of this process, and those of the processes that it was forked from.
///
/// A lock that another thread held at the fork stays locked in the child forever, so each process has its own slot.
#[derive(Debug)]
pub(crate) struct ProcessSlots {
    executable: PathBuf,
    arguments: Vec<OsString>,
    limits: ProcessLimits,
    first: OnceLock<Box<Slot>>,
}

#[derive(Debug)]
struct Slot {
    owner: u32,
    server: Mutex<Option<Server>>,
    next: OnceLock<Box<Slot>>,
}

#[derive(Debug)]
struct Server {
    child: Child,
    socket: Socket,
    errors: Option<File>,
}

impl ProcessSlots {
    /// `executable` gets `arguments`, and behind them its memory limit.
    pub(crate) fn new(executable: PathBuf, mut arguments: Vec<OsString>, limits: ProcessLimits) -> Self {
        arguments.extend(["--memory-limit".into(), limits.memory_bytes.to_string().into()]);
        Self { executable, arguments, limits, first: OnceLock::new() }
    }

    /// Sends one request and waits for its answer. `purpose` completes "it died while …".
    pub(crate) fn exchange(&self, request: &[u8], purpose: &str) -> Result<Vec<u8>, ProcessError> {
        let mut server = self.slot().server.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut running) = server.take() {
            match running.exchange(request, self.limits.time) {
                Ok(answer) => {
                    *server = Some(running);
                    return Ok(answer);
                }
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                    return Err(running.obituary(&error, purpose, self.limits));
                }
                // It may have died, or gone because it had nothing to do, since the last request: then a new one is asked.
                Err(_) => drop(running.end()),
            }
        }
        let mut fresh = Server::start(&self.executable, &self.arguments)?;
        match fresh.exchange(request, self.limits.time) {
            Ok(answer) => {
                *server = Some(fresh);
                Ok(answer)
            }
            Err(error) => Err(fresh.obituary(&error, purpose, self.limits)),
        }
    }

    pub(crate) fn process_id(&self) -> Option<u32> {
        let server = self.slot().server.lock().unwrap_or_else(PoisonError::into_inner);
        server.as_ref().map(|server| server.child.id())
    }

    fn slot(&self) -> &Slot {
        let owner = std::process::id();
        let new = || Box::new(Slot { owner, server: Mutex::new(None), next: OnceLock::new() });
        let mut slot = self.first.get_or_init(new);
        while slot.owner != owner {
            slot = slot.next.get_or_init(new);
        }
        slot
    }
}

impl Server {
    fn start(executable: &Path, arguments: &[OsString]) -> Result<Self, ProcessError> {
        let failed = |error: io::Error| ProcessError::Start {
            executable: executable.display().to_string(),
            reason: error.to_string(),
        };
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let errors = memory_file().ok();
        let error_output = errors.as_ref().and_then(|file| file.try_clone().ok()).map_or_else(Stdio::null, Stdio::from);
        let child = Command::new(executable)
            .args(arguments)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(error_output)
            // The terminal's interrupt is for the user's process; the server ends when its socket does.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        Ok(Self { child, socket: Socket { stream: ours, deadline: None }, errors })
    }

    /// After [`io::ErrorKind::TimedOut`] the server is of no use: its answer would be taken for that to the next request.
    fn exchange(&mut self, request: &[u8], time: Duration) -> io::Result<Vec<u8>> {
        self.socket.deadline = Instant::now().checked_add(time);
        write_frame(&mut self.socket, request)?;
        read_frame(&mut self.socket)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Makes sure that the process is gone and returns how it ended.
    fn end(mut self) -> (Option<ExitStatus>, Option<File>) {
        drop(self.socket);
        // It reads the end of its socket, unless it hangs; nothing that it could still do is wanted.
        let status = match self.child.try_wait() {
            Ok(Some(status)) => Some(status),
            _ => {
                let own = wait_briefly(&mut self.child);
                own.or_else(|| {
                    let _ = self.child.kill();
                    self.child.wait().ok()
                })
            }
        };
        (status, self.errors)
    }

    fn obituary(mut self, error: &io::Error, purpose: &str, limits: ProcessLimits) -> ProcessError {
        let purpose = purpose.to_owned();
        if error.kind() == io::ErrorKind::TimedOut {
            // It has ended by itself if this fails.
            let _ = self.child.kill();
            drop(self.end());
            return ProcessError::TimeLimit { limit: limits.time, purpose };
        }
        if error.kind() == io::ErrorKind::InvalidData {
            drop(self.end());
            return ProcessError::Answer(error.to_string());
        }
        let (status, errors) = self.end();
        let output = errors.map(last_words).unwrap_or_default();
        // The words are those of Rust and of LLVM (which gives deep recursion further stacks) before they abort.
        let lacks_memory = status.and_then(|status| status.code()) == Some(OUT_OF_MEMORY_STATUS)
            || output.contains("memory allocation of ")
            || output.contains("pthread_create failed");
        if lacks_memory {
            return ProcessError::MemoryLimit { limit_bytes: limits.memory_bytes, purpose };
        }
        let how = match status.map(|status| (status.signal(), status.code())) {
            Some((Some(signal), _)) => format!("was ended by signal {signal}{}", signal_name(signal)),
            Some((None, Some(code))) => format!("ended with status {code}"),
            _ => format!("cannot be reached ({error})"),
        };
        let output = if output.is_empty() { output } else { format!(": {output}") };
        ProcessError::Died { how, purpose, output }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let server = self.server.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if self.owner == std::process::id() {
            drop(server.map(Server::end));
        }
    }
}

/// Waits a little for a process that is about to end by itself, so that its own status is reported.
fn wait_briefly(child: &mut Child) -> Option<ExitStatus> {
    for _ in 0..20 {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    None
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGABRT => " (SIGABRT)",
        libc::SIGBUS => " (SIGBUS)",
        libc::SIGFPE => " (SIGFPE)",
        libc::SIGILL => " (SIGILL)",
        libc::SIGKILL => " (SIGKILL)",
        libc::SIGSEGV => " (SIGSEGV)",
        libc::SIGTERM => " (SIGTERM)",
        _ => "",
    }
}

/// The end of what the server printed, on one line.
fn last_words(mut file: File) -> String {
    const BYTES_MAX: u64 = 2000;
    let mut text = Vec::new();
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    if file.seek(SeekFrom::Start(length.saturating_sub(BYTES_MAX))).is_ok() {
        // What cannot be read is not said.
        let _ = file.take(BYTES_MAX).read_to_end(&mut text);
    }
    String::from_utf8_lossy(&text).lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

fn memory_file() -> io::Result<File> {
    // SAFETY: the name is a C string, and the flag is one that the call knows.
    let descriptor = unsafe { libc::memfd_create(c"openmps-compiler-errors".as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call above returned a new descriptor that nobody else owns.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

/// Reads and writes until a deadline, and writes without raising SIGPIPE, which would end a program that leaves that
/// signal at its default.
#[derive(Debug)]
struct Socket {
    stream: UnixStream,
    deadline: Option<Instant>,
}

impl Socket {
    /// The time that is left; none where there is no deadline.
    fn time_left(&self) -> io::Result<Option<Duration>> {
        let Some(deadline) = self.deadline else { return Ok(None) };
        let left = deadline.saturating_duration_since(Instant::now());
        // Zero would mean to wait for ever.
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

/// A socket whose time is over says that it would block.
fn timed_out(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::WouldBlock { io::ErrorKind::TimedOut.into() } else { error }
}

impl Read for Socket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.time_left()?)?;
        self.stream.read(bytes).map_err(timed_out)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.time_left()?)?;
        let descriptor = self.stream.as_raw_fd();
        // SAFETY: the pointer and length are those of a live slice, and the descriptor is open while the stream lives.
        let sent = unsafe { libc::send(descriptor, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
        usize::try_from(sent).map_err(|_| timed_out(io::Error::last_os_error()))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
