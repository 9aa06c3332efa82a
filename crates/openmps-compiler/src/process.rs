//! One compiler process: how it is started, asked and ended, and what is said of one that died.
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
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::limits::{MEMORY_BYTES_MAX_DEFAULT, OUT_OF_MEMORY_STATUS, TIME_MAX_DEFAULT, processes_default};
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

/// What one request may cost, and how many are answered at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessLimits {
    /// Time on the clock from request to answer; waiting for other threads' requests does not count.
    pub time: Duration,
    /// Address space of each process, in bytes.
    pub memory_bytes: u64,
    /// Compiler processes at a time, at least one: as many requests are answered at once.
    pub processes: usize,
}

impl Default for ProcessLimits {
    fn default() -> Self {
        Self { time: TIME_MAX_DEFAULT, memory_bytes: MEMORY_BYTES_MAX_DEFAULT, processes: processes_default() }
    }
}

/// A process that answers one request after the other; [`crate::pool`] has as many as threads ask at a time.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    socket: Socket,
    errors: Option<File>,
}

impl Server {
    pub(crate) fn start(executable: &Path, arguments: &[OsString]) -> Result<Self, ProcessError> {
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

    /// Sends one request and waits for its answer. After [`io::ErrorKind::TimedOut`] the server is of no use: its answer would be taken for that to the next request.
    pub(crate) fn exchange(&mut self, request: &[u8], time: Duration) -> io::Result<Vec<u8>> {
        self.socket.deadline = Instant::now().checked_add(time);
        write_frame(&mut self.socket, request)?;
        read_frame(&mut self.socket)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it still runs; one that has been idle for long ends by itself.
    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Makes sure that the process is gone and returns how it ended.
    pub(crate) fn end(mut self) -> (Option<ExitStatus>, Option<File>) {
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

    /// What became of a server whose exchange failed with `error`. `purpose` completes "it died while …".
    pub(crate) fn obituary(mut self, error: &io::Error, purpose: &str, limits: ProcessLimits) -> ProcessError {
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
