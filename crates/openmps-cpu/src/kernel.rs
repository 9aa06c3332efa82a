//! A loaded kernel and its dispatch over threadgroups.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use openmps_engine::{
    Bindings, CompiledKernel, Completion, DispatchError, EngineError, Grid, KernelProperties, KernelSignature,
    SimdgroupRows,
};

use crate::abi::{Cut, GroupContext, PRIVATE_BYTES_MAX, SIMD_WIDTH, THREADS_PER_GROUP_MAX, WholeSimdgroups};
use crate::bind::{BoundArguments, bind};
use crate::cost::Cost;
use crate::group::{self, FiberKernel};
use crate::jit::call::Entry;
use crate::jit::load::{LoadError, load};
use crate::jit::symbols;
use crate::pool;
use crate::rows::Plan;
use crate::runtime::{FlushDenormals, take_trap};
use crate::scratch;
use crate::variants::Variants;
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
/// Threads of a row, and rows, of a made-up tile whose rows write across: four lines of the cache are written side by side, each to its
/// end, and what the rows read stays in the cache until the next tile reads the rest of its lines. As many lines as a SIMD-group has
/// threads may all lie in one set of the first cache, where steps are powers of two, and push each other out.
const NARROW_THREADS: u8 = 4;
const NARROW_ROWS_MAX: u32 = 256;
/// Work of a made-up threadgroup from which a smaller one is worth its call.
const FLAT_NANOSECONDS: u64 = 4_000;

/// What a step can be: a thread, a SIMD-group.
const STEP_THREADS: [u32; 2] = [1, 32];

/// A kernel in memory.
pub(crate) struct CpuKernel {
    signature: KernelSignature,
    entry: Entry,
    cost: Cost,
    /// For threadgroups that the code does not suit.
    variants: Option<Arc<Variants>>,
}

/// The codes that run a launch.
struct Codes<'a> {
    most: &'a CpuKernel,
    /// Of the code that stands for the kernel among its forms.
    cost: &'a Cost,
    /// For threadgroups at the edge that the other does not suit.
    edge: Option<(Plan, &'a CpuKernel)>,
}

impl<'a> Codes<'a> {
    fn of(most: &'a CpuKernel) -> Self {
        Self { most, cost: &most.cost, edge: None }
    }

    /// The code for a threadgroup of this size.
    #[inline]
    fn for_size(&self, x: u32, y: u32, z: u32) -> &'a CpuKernel {
        if self.edge.is_none() { self.most } else { self.one_of_two([x, y, z]) }
    }

    /// Out of line, so that nobody else needs the size in memory.
    #[inline(never)]
    fn one_of_two(&self, size: [u32; 3]) -> &'a CpuKernel {
        match &self.edge {
            Some((plan, edge)) if !plan.suits(size) => edge,
            Some(_) | None => self.most,
        }
    }
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
        Ok(Self { signature, entry, cost, variants: None })
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

    /// Whether its threads never wait and have no loops.
    pub(crate) fn is_straight(&self) -> bool {
        self.entry.info().straight != 0
    }

    /// Picoseconds of a thread in its last launches; none before it was measured.
    pub(crate) fn recent_picoseconds(&self) -> Option<u64> {
        self.cost.recent_picoseconds()
    }

    /// With code for threadgroups that this code does not suit.
    pub(crate) fn with_variants(self, variants: Arc<Variants>) -> Self {
        Self { variants: Some(variants), ..self }
    }

    /// The codes for the threadgroups of `grid`.
    fn codes(&self, grid: &Grid) -> Result<Codes<'_>, DispatchError> {
        let info = self.entry.info();
        let Some(variants) = self.variants.as_ref().filter(|_| info.vectorized != 0 && info.flat == 0) else {
            return Ok(Codes::of(self));
        };
        let needs = WholeSimdgroups::from_number(info.whole_simdgroups);
        let first = if info.whole_rows == 0 { SimdgroupRows::One } else { SimdgroupRows::Whole };
        let plan = Plan::new(first, needs, grid);
        let code = |rows| if rows == first { Some(self) } else { variants.vector(rows) };
        let codes = match (code(plan.most), plan.edge) {
            (Some(most), None) => Some(Codes::of(most)),
            (Some(most), Some(edge)) => code(edge).map(|edge| Codes { edge: Some((plan, edge)), ..Codes::of(most) }),
            (None, _) => None,
        };
        match (codes, needs) {
            (Some(codes), _) => Ok(codes),
            (None, WholeSimdgroups::Never) if first == SimdgroupRows::One => Ok(Codes::of(self)),
            (None, WholeSimdgroups::Never | WholeSimdgroups::InThreadgroup | WholeSimdgroups::InGrid) => {
                let fail = |error: EngineError| DispatchError::Failed {
                    kernel: self.signature.name.clone(),
                    reason: error.to_string(),
                };
                variants.scalar().map(Codes::of).map_err(fail)
            }
        }
    }

    fn run(&self, bindings: &Bindings, grid: &Grid) -> Result<(), DispatchError> {
        self.check_grid(grid)?;
        if grid.is_empty() {
            bind(&self.signature, self.entry.info(), bindings)?;
            return Ok(());
        }
        match Cut::from_number(self.entry.info().flat) {
            Cut::AsAsked => self.codes(grid)?.run(bindings, grid),
            Cut::Narrow if let Some((codes, grid)) = self.narrow(grid) => codes.run(bindings, &grid),
            Cut::Anywhere | Cut::Narrow => Codes::of(self).run(bindings, &flat_shape(grid, self.flat_threads())),
        }
    }

    /// Narrow tiles of a plane's threads, and the codes for them; none where the launch is no plane or the code is not there yet.
    fn narrow(&self, grid: &Grid) -> Option<(Codes<'_>, Grid)> {
        let grid = narrow_shape(grid, self.flat_threads())?;
        let rows = SimdgroupRows::Short(NARROW_THREADS);
        let plan = Plan::new(SimdgroupRows::One, WholeSimdgroups::Never, &grid);
        if plan.most != rows {
            return None;
        }
        let most = self.variants.as_ref()?.vector(rows)?;
        // This code runs threadgroups of any size.
        Some((Codes { most, cost: &self.cost, edge: plan.edge.map(|_| (plan, self)) }, grid))
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

impl Codes<'_> {
    fn run(&self, bindings: &Bindings, grid: &Grid) -> Result<(), DispatchError> {
        let kernel = self.most;
        let bound = bind(&kernel.signature, kernel.entry.info(), bindings)?;
        let groups = grid.group_count();
        let threads = grid.threads.into_iter().map(u64::from).fold(1, u64::saturating_mul);
        let measured = self.cost.is_due().then(AtomicU64::default);
        let launch = Dispatch { codes: self, bound: &bound, grid: *grid, measured };
        let expected = self.cost.nanoseconds(threads);
        let result = launch.run(groups, expected);
        match &launch.measured {
            Some(nanoseconds) => self.cost.learn(threads, nanoseconds.load(Ordering::Relaxed)),
            None => self.cost.spend(expected),
        }
        result.map_err(|reason| DispatchError::Failed { kernel: kernel.signature.name.clone(), reason })
    }
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

/// The same as narrow tiles of at most `most` threads; none where the program asks for no tiles.
fn narrow_shape(grid: &Grid, most: u32) -> Option<Grid> {
    let x = u32::from(NARROW_THREADS);
    let is_tile = grid.group[1] > 1 && grid.threads[0] >= x && grid.threads[1] > 1;
    let y = grid.threads[1].min(NARROW_ROWS_MAX).min(most / x);
    is_tile.then_some(Grid { threads: grid.threads, group: [x, y, 1] })
}

struct Dispatch<'run> {
    codes: &'run Codes<'run>,
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
                // Each word from a register: where one that was just written is read at another width, as by the copy of an array,
                // the CPU waits until all stores of the threadgroup before are done.
                let [width, height, depth] = [size_at(0, x), size_at(1, y), size_at(2, z)];
                [context.position[0], context.position[1], context.position[2]] = [x, y, z];
                [context.size[0], context.size[1], context.size[2]] = [width, height, depth];
                self.run_group(self.codes.for_size(width, height, depth), &context)?;
                (x, y, z) = advance((x, y, z), groups);
            }
            Ok(())
        });
        let trap = take_trap();
        result?;
        trap.map_or(Ok(()), |reason| Err(reason.into_owned()))
    }

    /// Bytes of the frames of all steps of a threadgroup; a step's threads are of one row, or go on in the next.
    fn frames_bytes(&self) -> usize {
        let [x, y, z] = self.grid.group.map(|size| size as usize);
        let bytes = |kernel: &CpuKernel| {
            let info = kernel.entry.info();
            x.div_ceil(info.step_threads as usize) * y * z * info.frame_bytes as usize
        };
        let edge = self.codes.edge.map_or(0, |(_, edge)| bytes(edge));
        bytes(self.codes.most).max(edge)
    }

    #[inline]
    fn run_group(&self, kernel: &CpuKernel, context: &GroupContext) -> Result<(), String> {
        match kernel.entry.fiber() {
            None => {
                // SAFETY: `bind` made a word for every parameter; the dispatch's caller vouches for the buffers, and the
                // memory block has the bytes that `bind` counted.
                unsafe { kernel.entry.run_group(context) };
                Ok(())
            }
            Some(entry) => {
                let private_bytes = kernel.entry.info().private_bytes as usize;
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
        let tile = Grid { threads: [1000, 1000, 1], group: [16, 8, 1] };
        assert_eq!(flat_shape(&tile, FLAT_THREADS).group, [32, 128, 1]);
        assert_eq!(narrow_shape(&tile, FLAT_THREADS).map(|grid| grid.group), Some([4, 256, 1]));
        assert_eq!(narrow_shape(&tile, FLAT_THREADS_MIN).map(|grid| grid.group), Some([4, 16, 1]));
        for flat in
            [Grid { threads: [1000, 1000, 1], group: [256, 1, 1] }, Grid { threads: [3, 1000, 1], group: [1, 8, 1] }]
        {
            assert_eq!(narrow_shape(&flat, FLAT_THREADS), None);
        }
    }
}
