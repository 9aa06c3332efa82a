//! A loaded kernel and its dispatch over threadgroups.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use openmps_engine::{
    Bindings, CompiledKernel, Completion, DispatchError, EngineError, Grid, KernelProperties, KernelSignature,
};

use crate::abi::{GroupContext, PRIVATE_BYTES_MAX, SIMD_WIDTH, THREADS_PER_GROUP_MAX, WholeSimdgroups};
use crate::bind::{BoundArguments, bind};
use crate::cost::Cost;
use crate::group::{self, FiberKernel};
use crate::jit::call::Entry;
use crate::jit::load::{LoadError, load};
use crate::jit::symbols;
use crate::pool;
use crate::runtime::{FlushDenormals, take_trap};
use crate::scratch;
use crate::vectorize::Refusal;

/// Chunks for each thread of the pool: more balance the load better, fewer cost less.
const CHUNKS_PER_THREAD: u64 = 8;
/// A launch with less estimated work runs inline: publishing it costs about as much as it could save.
const INLINE_NANOSECONDS_MAX: u64 = 5_000;
/// Most and fewest threads of a made-up threadgroup of a kernel that cannot observe threadgroups.
const FLAT_THREADS: u32 = 4096;
const FLAT_THREADS_MIN: u32 = 64;
/// Threads of a row of a made-up threadgroup that is a tile, or a multiple.
const FLAT_TILE_THREADS: u32 = 32;
/// Work of a made-up threadgroup from which a smaller one is worth its call.
const FLAT_NANOSECONDS: u64 = 4_000;

/// What a step can be: a thread, a SIMD-group.
const STEP_THREADS: [u32; 2] = [1, 32];

/// A kernel in memory.
pub(crate) struct CpuKernel {
    signature: KernelSignature,
    entry: Entry,
    cost: Cost,
    /// For threadgroups that the code cannot run.
    other: Option<OtherCode>,
}

/// Scalar code of a kernel whose vector code takes rows for whole SIMD-groups, made at the first dispatch that needs it.
struct OtherCode {
    make: Box<dyn Fn() -> Result<Arc<CpuKernel>, EngineError> + Send + Sync>,
    made: OnceLock<Result<Arc<CpuKernel>, EngineError>>,
}

impl CpuKernel {
    /// Loads an object that a [`CodeGenerator`](crate::CodeGenerator) made for `signature`.
    ///
    /// # Errors
    /// See [`LoadError`].
    pub(crate) fn new(signature: KernelSignature, object: &[u8]) -> Result<Self, LoadError> {
        let entry = Entry::new(load(object, symbols::resolve)?)?;
        let info = entry.info();
        if !STEP_THREADS.contains(&info.step_threads) {
            return Err(LoadError::Malformed(format!("steps of {} threads", info.step_threads)));
        }
        let frame_bytes = u64::from(info.frame_bytes).div_ceil(u64::from(info.step_threads));
        if u64::from(info.private_bytes) > PRIVATE_BYTES_MAX || frame_bytes > PRIVATE_BYTES_MAX {
            let reason = format!("{} and {frame_bytes} bytes of private memory for each thread", info.private_bytes);
            return Err(LoadError::Malformed(reason));
        }
        let cost = Cost::guess(entry.info());
        Ok(Self { signature, entry, cost, other: None })
    }

    /// Whether the threads of a SIMD-group run together.
    pub(crate) fn is_vectorized(&self) -> bool {
        self.entry.info().vectorized != 0
    }

    /// Why they do not, though asked for.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        Refusal::from_number(self.entry.info().refusal)
    }

    /// What its launches have taken so far, in nanoseconds of one core.
    pub(crate) fn spent_nanoseconds(&self) -> u64 {
        self.cost.spent_nanoseconds()
    }

    /// With code from `make` for threadgroups that this code cannot run.
    pub(crate) fn with_other_code(
        self,
        make: impl Fn() -> Result<Arc<CpuKernel>, EngineError> + Send + Sync + 'static,
    ) -> Self {
        let other = OtherCode { make: Box::new(make), made: OnceLock::new() };
        Self { other: Some(other), ..self }
    }

    /// The kernel with code for the threadgroups of `grid`.
    fn for_shape(&self, grid: &Grid) -> Result<&Self, DispatchError> {
        let runs_all = match WholeSimdgroups::from_number(self.entry.info().whole_simdgroups) {
            WholeSimdgroups::Never => true,
            WholeSimdgroups::InThreadgroup => has_whole_simdgroups(grid),
            WholeSimdgroups::InGrid => has_whole_simdgroups(grid) && starts_whole(grid),
        };
        let Some(other) = self.other.as_ref().filter(|_| !runs_all) else { return Ok(self) };
        let made = other.made.get_or_init(|| (other.make)());
        made.as_ref()
            .map(AsRef::as_ref)
            .map_err(|error| DispatchError::Failed { kernel: self.signature.name.clone(), reason: error.to_string() })
    }

    fn run(&self, bindings: &Bindings, grid: &Grid) -> Result<(), DispatchError> {
        self.check_grid(grid)?;
        self.for_shape(grid)?.run_shape(bindings, grid)
    }

    fn run_shape(&self, bindings: &Bindings, grid: &Grid) -> Result<(), DispatchError> {
        let bound = bind(&self.signature, self.entry.info(), bindings)?;
        if grid.is_empty() {
            return Ok(());
        }
        let is_flat = self.entry.info().flat != 0;
        let grid = if is_flat { flat_shape(grid, self.flat_threads()) } else { *grid };
        let groups = grid.group_count();
        let threads = grid.threads.into_iter().map(u64::from).fold(1, u64::saturating_mul);
        let launch =
            Dispatch { kernel: self, bound: &bound, grid, measured: self.cost.is_due().then(AtomicU64::default) };
        let expected = self.cost.nanoseconds(threads);
        let result = launch.run(groups, expected);
        match &launch.measured {
            Some(nanoseconds) => self.cost.learn(threads, nanoseconds.load(Ordering::Relaxed)),
            None => self.cost.spend(expected),
        }
        result.map_err(|reason| DispatchError::Failed { kernel: self.signature.name.clone(), reason })
    }

    /// Threads of a made-up threadgroup: fewer where each of them does much, so that several cores get some.
    fn flat_threads(&self) -> u32 {
        let mut threads = FLAT_THREADS;
        while threads > FLAT_THREADS_MIN && self.cost.nanoseconds(u64::from(threads)) > FLAT_NANOSECONDS {
            threads /= 2;
        }
        threads
    }

    fn check_grid(&self, grid: &Grid) -> Result<(), DispatchError> {
        let fail = |reason| Err(DispatchError::Failed { kernel: self.signature.name.clone(), reason });
        if grid.group.contains(&0) {
            return fail(format!("threadgroup size {:?} has a zero", grid.group));
        }
        let limit = self.properties().max_total_threads_per_threadgroup;
        let threads = grid.group.into_iter().map(u64::from).fold(1, u64::saturating_mul);
        if threads > u64::from(limit) {
            return fail(format!("threadgroup size {:?} has {threads} threads, the limit is {limit}", grid.group));
        }
        Ok(())
    }
}

/// Whether no SIMD-group has threads of two rows, in threadgroups at the upper edges neither.
fn has_whole_simdgroups(grid: &Grid) -> bool {
    let most = |axis: usize| u64::from(grid.threads[axis].min(grid.group[axis]));
    let last_width = grid.threads[0] % grid.group[0];
    let is_whole = |width: u64| width.is_multiple_of(SIMD_WIDTH as u64);
    most(1) * most(2) <= 1 || (is_whole(most(0)) && is_whole(u64::from(last_width)))
}

/// Whether the first thread of each row of a threadgroup is at a multiple of 32 in the grid.
fn starts_whole(grid: &Grid) -> bool {
    u64::from(grid.group[0]).is_multiple_of(SIMD_WIDTH as u64) || grid.groups()[0] == 1
}

/// The same threads in threadgroups of at most `most` that suit the CPU, for a kernel that cannot tell the difference. Where the
/// program asks for tiles, neighbours in y share cache lines, and tiles stay narrow.
fn flat_shape(grid: &Grid, most: u32) -> Grid {
    let is_tile = grid.group[1] > 1 && grid.threads[1] > 1;
    let width = if is_tile { grid.group[0].next_multiple_of(FLAT_TILE_THREADS) } else { most };
    let x = grid.threads[0].min(most).min(width);
    let y = grid.threads[1].min(most / x);
    let z = grid.threads[2].min(most / (x * y));
    Grid { threads: grid.threads, group: [x, y, z] }
}

struct Dispatch<'run> {
    kernel: &'run CpuKernel,
    bound: &'run BoundArguments<'run>,
    grid: Grid,
    /// Nanoseconds of all chunks, when they are wanted.
    measured: Option<AtomicU64>,
}

// SAFETY: addresses in `bound` point to memory that the dispatch's caller keeps alive and that kernels may share between
// threads; the rest is plain shared data.
unsafe impl Sync for Dispatch<'_> {}

impl Dispatch<'_> {
    /// Runs all `groups`, on as many threads as pays for `nanoseconds` of work.
    fn run(&self, groups: u64, nanoseconds: u64) -> Result<(), String> {
        let threads = u64::try_from(pool::thread_count()).expect("a count of threads is small");
        if groups == 1 || nanoseconds < INLINE_NANOSECONDS_MAX || threads == 1 {
            return pool::run_inline(1, &|_| self.run_chunk(0, groups));
        }
        let chunk = groups.div_ceil(CHUNKS_PER_THREAD * threads);
        let chunks = u32::try_from(groups.div_ceil(chunk)).expect("at most 8 chunks a thread");
        let run_chunk = |number: u32| {
            let first = u64::from(number) * chunk;
            self.run_chunk(first, (first + chunk).min(groups))
        };
        pool::run(chunks, nanoseconds, &run_chunk)
    }

    fn run_chunk(&self, first: u64, end: u64) -> Result<(), String> {
        let Some(measured) = &self.measured else { return self.run_groups(first, end) };
        let start = Instant::now();
        let result = self.run_groups(first, end);
        let nanoseconds = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        measured.fetch_add(nanoseconds, Ordering::Relaxed);
        result
    }

    /// Runs the threadgroups with linear numbers `first..end` on the calling thread.
    fn run_groups(&self, first: u64, end: u64) -> Result<(), String> {
        let _flush = FlushDenormals::enter();
        let sizes = [self.bound.threadgroup_memory_bytes, self.frames_bytes()];
        let result: Result<(), String> = scratch::with_blocks(sizes, |[memory, frames]| {
            let groups = self.grid.groups();
            let mut context = GroupContext {
                arguments: self.bound.words.as_ptr(),
                threadgroup_memory: memory,
                threads_per_grid: self.grid.threads,
                groups_per_grid: groups,
                dispatch_size: self.grid.group,
                position: position_of(first, groups),
                size: [0; 3],
                frames,
            };
            let [mut x, mut y, mut z] = context.position;
            let last = groups.map(|count| count - 1);
            let (whole, at_edge) = (self.grid.group, self.grid.group_size_at(last));
            let size_at = |axis: usize, place: u32| if place == last[axis] { at_edge[axis] } else { whole[axis] };
            for _ in first..end {
                // Word by word: a word that was just written is not read at another width, which would wait for the stores of
                // the threadgroup before.
                context.position = [x, y, z];
                context.size = [size_at(0, x), size_at(1, y), size_at(2, z)];
                self.run_group(&context)?;
                (x, y, z) = advance((x, y, z), groups);
            }
            Ok(())
        });
        let trap = take_trap();
        result?;
        trap.map_or(Ok(()), |reason| Err(reason.to_owned()))
    }

    /// Bytes of the frames of all steps of a threadgroup; a step's threads are of one row, or go on in the next.
    fn frames_bytes(&self) -> usize {
        let info = self.kernel.entry.info();
        let [x, y, z] = self.grid.group.map(|size| size as usize);
        x.div_ceil(info.step_threads as usize) * y * z * info.frame_bytes as usize
    }

    fn run_group(&self, context: &GroupContext) -> Result<(), String> {
        match self.kernel.entry.fiber() {
            None => {
                // SAFETY: `bind` made a word for every parameter; the dispatch's caller vouches for the buffers, and the
                // memory block has the bytes that `bind` counted.
                unsafe { self.kernel.entry.run_group(context) };
                Ok(())
            }
            Some(entry) => {
                let private_bytes = self.kernel.entry.info().private_bytes as usize;
                let threads = context.size.iter().product::<u32>() as usize;
                let kernel = FiberKernel { entry, private_bytes };
                // SAFETY: as above.
                unsafe { group::run(&kernel, context, threads) }
            }
        }
    }
}

fn position_of(number: u64, groups: [u32; 3]) -> [u32; 3] {
    let [x, y, _] = groups.map(u64::from);
    let part = |value: u64| u32::try_from(value).expect("below the number of groups on one axis");
    [part(number % x), part(number / x % y), part(number / x / y)]
}

/// The next threadgroup's position.
#[inline]
fn advance((x, y, z): (u32, u32, u32), groups: [u32; 3]) -> (u32, u32, u32) {
    if x + 1 < groups[0] {
        (x + 1, y, z)
    } else if y + 1 < groups[1] {
        (0, y + 1, z)
    } else {
        (0, 0, z + 1)
    }
}

impl CompiledKernel for CpuKernel {
    fn signature(&self) -> &KernelSignature {
        &self.signature
    }

    fn properties(&self) -> KernelProperties {
        let declared = self.signature.max_total_threads_per_threadgroup;
        KernelProperties {
            max_total_threads_per_threadgroup: declared.unwrap_or(THREADS_PER_GROUP_MAX).min(THREADS_PER_GROUP_MAX),
            thread_execution_width: u32::try_from(SIMD_WIDTH).expect("32"),
            static_threadgroup_memory_length: self.entry.info().threadgroup_memory_bytes,
        }
    }

    fn dispatch(&self, bindings: &Bindings, grid: &Grid, completion: Completion) {
        completion(self.run(bindings, grid));
    }
}

/// Shares a kernel with streams.
pub(crate) fn share(kernel: CpuKernel) -> Arc<dyn CompiledKernel> {
    Arc::new(kernel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_x_first() {
        let groups = [3, 2, 2];
        let mut position = (0, 0, 0);
        for number in 0..12 {
            assert_eq!(<[u32; 3]>::from(position), position_of(number, groups));
            position = advance(position, groups);
        }
    }

    #[test]
    fn rows_of_every_threadgroup_are_looked_at() {
        let whole = |threads, group| has_whole_simdgroups(&Grid { threads, group });
        assert!(whole([128, 8, 2], [64, 2, 2]));
        assert!(whole([96, 8, 1], [64, 2, 1]), "the last threadgroup of a row has 32 columns");
        assert!(!whole([207, 4, 1], [64, 2, 1]), "the last threadgroup of a row has 15");
        assert!(!whole([18, 4, 1], [32, 4, 1]), "the only threadgroup of a row has 18");
        assert!(!whole([128, 8, 1], [16, 2, 1]));
        assert!(whole([207, 1, 1], [64, 4, 1]), "there is one row");
        assert!(whole([207, 3, 5], [70, 1, 1]), "each threadgroup has one row");
    }

    #[test]
    fn rows_start_at_simdgroups_of_the_grid() {
        let whole = |threads, group| starts_whole(&Grid { threads, group });
        assert!(whole([128, 8, 2], [64, 2, 2]));
        assert!(whole([48, 2, 1], [48, 1, 1]), "each row of the grid has one threadgroup");
        assert!(!whole([96, 1, 1], [48, 1, 1]), "the second starts at 48");
    }

    #[test]
    fn flat_shapes_keep_the_threads() {
        for threads in [[1, 1, 1], [100_000, 1, 1], [8, 100_000, 1], [5, 7, 100_000], [u32::MAX, 1, 1]] {
            for most in [FLAT_THREADS_MIN, FLAT_THREADS] {
                for group in [[1, 1, 1], [16, 16, 1], [1000, 1, 1], [1, 1024, 1]] {
                    let flat = flat_shape(&Grid { threads, group }, most);
                    assert_eq!(flat.threads, threads);
                    assert!(flat.threads_per_group() <= u64::from(most));
                    assert!(flat.group.iter().all(|&size| size > 0));
                }
            }
        }
        let tile = flat_shape(&Grid { threads: [1000, 1000, 1], group: [16, 8, 1] }, FLAT_THREADS);
        assert_eq!(tile.group, [32, 128, 1]);
    }
}
