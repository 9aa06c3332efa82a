//! The profiler: traces, and the operations that the plug-in executes.

use std::slice;

use openmps::profile::{self, CopyShape, Kind, NameId, Operation, Running, flag, tensor_words};
use openmps::stream;

use super::error::AbiError;
use super::{In, Out, Text, abi};

/// An operator of ATen.
pub const PROFILE_GRAPH: u32 = 0;
/// A copy; its tensors are source and destination.
pub const PROFILE_COPY: u32 = 1;
/// An operator that the MPS backend lacks.
pub const PROFILE_FALLBACK: u32 = 2;

/// Bits of `openmps_profile_flags`: someone wants to know of operators.
pub const PROFILE_SEES_OPERATION: u32 = 65;
/// Bits of `openmps_profile_flags`: someone wants to know of copies.
pub const PROFILE_SEES_COPY: u32 = 66;
/// Bits of `openmps_profile_flags`: someone wants to know of fallbacks.
pub const PROFILE_SEES_FALLBACK: u32 = 68;
/// A bit of `openmps_profile_flags`: tensors come with a buffer word.
pub const PROFILE_FLAG_BUFFER_IDS: u32 = 32;

/// A tensor's header word: where the number of sizes starts; the scalar type is below.
pub const PROFILE_RANK_SHIFT: u32 = 8;
/// A tensor's header word: it lies on device mps.
pub const PROFILE_MPS: u64 = 65536;
/// A tensor's header word: a word with the block's number follows, and its retain count from bit 40 on.
pub const PROFILE_BUFFER: u64 = 131072;
/// A tensor's header word: there is no tensor.
pub const PROFILE_UNDEFINED: u64 = 524288;
/// A tensor's header word: bits 32 to 63 count tensors that were left out.
pub const PROFILE_MORE: u64 = 1048576;
/// Where the retain count starts in a buffer word.
pub const PROFILE_RETAIN_SHIFT: u32 = 40;

const _: () = assert!(
    PROFILE_SEES_OPERATION == flag::OPERATION | flag::CAPTURE
        && PROFILE_SEES_COPY == flag::COPY | flag::CAPTURE
        && PROFILE_SEES_FALLBACK == flag::FALLBACK | flag::CAPTURE
        && PROFILE_FLAG_BUFFER_IDS == flag::BUFFER_IDS
        && PROFILE_RANK_SHIFT == tensor_words::RANK_SHIFT
        && PROFILE_MPS == tensor_words::MPS
        && PROFILE_BUFFER == tensor_words::BUFFER
        && PROFILE_UNDEFINED == tensor_words::UNDEFINED
        && PROFILE_MORE == tensor_words::MORE
        && PROFILE_RETAIN_SHIFT == profile::RETAIN_SHIFT
);

/// An operation that begins or ends.
#[repr(C)]
pub struct ProfileOperation {
    /// `PROFILE_GRAPH`, `PROFILE_COPY` or `PROFILE_FALLBACK`.
    pub kind: u32,
    /// What `openmps_profile_operator` said.
    pub name: u32,
    /// For copies: their size.
    pub copy_bytes: u64,
    /// For copies: the caller waits.
    pub copy_is_blocking: u32,
    /// For copies: a Mac would use a blit encoder.
    pub copy_is_blit: u32,
    /// The tensors: a header word, a buffer word if the header says so, and the sizes of each.
    pub words: *const u64,
    /// How many words there are.
    pub word_count: u64,
}

/// What the profiler wants to see again at the end of an operation.
#[repr(C)]
pub struct ProfileRunning {
    /// When it began.
    pub begin_ns: u64,
    /// When it was called.
    pub called_ns: u64,
    /// Where it is counted; the largest number if it is not.
    pub index: u64,
    /// Which run it is.
    pub run: u64,
    /// 1 if the trace has it.
    pub is_recorded: u64,
    /// When it began, on the clock of captures.
    pub observed_ns: u64,
}

/// Calls `act` with the operation in Rust's words.
fn with_operation<T>(given: &ProfileOperation, act: impl FnOnce(&Operation<'_>) -> T) -> Result<T, AbiError> {
    let kind = match given.kind {
        PROFILE_GRAPH => Kind::Graph,
        PROFILE_COPY => Kind::Copy,
        PROFILE_FALLBACK => Kind::Fallback,
        value => return Err(AbiError::Value { name: "kind", value: value.into(), expected: "0 to 2" }),
    };
    let count = usize::try_from(given.word_count).unwrap_or(0);
    let tensors = if given.words.is_null() || count == 0 {
        &[][..]
    } else {
        // SAFETY: the caller gives as many words as it says, and keeps them for the call.
        unsafe { slice::from_raw_parts(given.words, count) }
    };
    Ok(act(&Operation {
        kind,
        name: NameId(given.name),
        stream: stream::current_id().0,
        copy: CopyShape {
            bytes: given.copy_bytes,
            is_blocking: given.copy_is_blocking != 0,
            is_blit: given.copy_is_blit != 0,
        },
        tensors,
    }))
}

abi! {
    /// Constructs the profiler, so that a bad mask in the environment is reported.
    fn openmps_profile_initialize() { Ok(profile::initialize()?) }

    /// Starts a trace; `mode` has words `interval` and `event`, separated by commas.
    fn openmps_profile_start(mode: Text, wait_until_completed: bool) {
        // SAFETY: the caller keeps the text for the call.
        let mode = unsafe { mode.read("mode") }?;
        Ok(profile::start_trace(&mode, wait_until_completed)?)
    }

    /// Stops a trace, if one runs.
    fn openmps_profile_stop() {
        profile::stop_trace();
        Ok(())
    }

    /// The program is over: nothing is profiled any more; tables and the end of a trace are still to come.
    fn openmps_profile_program_ended() -> (), else (), { profile::program_ended() }

    /// Where the bits of `OPENMPS_PROFILE_SEES_…` and `OPENMPS_PROFILE_FLAG_…` are, to be read atomically. Lives as long as the process.
    fn openmps_profile_flags() -> *const u32, else std::ptr::null(), { profile::flags_place().as_ptr() }

    /// The number of an operator's name.
    fn openmps_profile_operator(name: Text, number: Out<'_, u32>) {
        // SAFETY: the caller keeps the text for the call.
        let name = unsafe { name.read("name") }?;
        *number.place("number")? = profile::operator(&name).0;
        Ok(())
    }

    /// An operation begins on this thread.
    fn openmps_profile_begin(operation: In<'_, ProfileOperation>, running: Out<'_, ProfileRunning>) {
        let place = running.place("running")?;
        let Running { begin_ns, called_ns, run, is_recorded, observed_ns } =
            with_operation(operation.thing("operation")?, profile::begin)?;
        let (index, run) = run.map_or((u64::MAX, 0), |(index, run)| (index as u64, run));
        *place = ProfileRunning { begin_ns, called_ns, index, run, is_recorded: is_recorded.into(), observed_ns };
        Ok(())
    }

    /// The operation that `openmps_profile_begin` filled `running` for ends, on the same thread.
    fn openmps_profile_end(operation: In<'_, ProfileOperation>, running: In<'_, ProfileRunning>) {
        let running = running.thing("running")?;
        let index = usize::try_from(running.index).ok().filter(|_| running.index != u64::MAX);
        let running = Running {
            begin_ns: running.begin_ns,
            called_ns: running.called_ns,
            run: index.map(|index| (index, running.run)),
            is_recorded: running.is_recorded != 0,
            observed_ns: running.observed_ns,
        };
        with_operation(operation.thing("operation")?, |operation| profile::end(operation, running))
    }
}
