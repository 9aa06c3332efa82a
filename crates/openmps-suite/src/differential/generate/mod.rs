//! Random kernels.
//!
//! A kernel has a meaning by construction, up to what the interpreter refuses: barriers stand where the generator knows that all
//! threads of the threadgroup come by, threadgroup memory is written in one phase (each thread its own element) and read in the
//! next, atomic results are not read, and sums of floats over lanes or by atomics are of small integers, which are exact in any order.

mod expression;
mod statement;

use super::program::{Expr, GRID_THREADS_MAX, Kernel, Output, Pointer, SharedArray, Space, Ty, VarId};
use super::scalar::Scalar;
use crate::machine::Random;
use openmps_engine::Grid;

/// What threadgroup memory is used for until the next barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Each thread stores its own element.
    Write,
    /// Every thread reads any element.
    Read,
}

/// A loop counter in scope.
#[derive(Clone, Copy, Debug)]
struct Counter {
    variable: VarId,
    most: u64,
    is_uniform: bool,
}

/// A loop around the place that is generated.
#[derive(Clone, Copy, Debug)]
struct Loop {
    /// The phase at its turns' beginnings, if it has barriers.
    phase: Option<Phase>,
    /// Whether all threads take the same turns so far as the generator knows.
    is_uniform: bool,
}

struct Generator<'run> {
    random: &'run mut Random,
    kernel: Kernel,
    /// Variables that all threads of a threadgroup have the same value of.
    uniform: Vec<VarId>,
    counters: Vec<Counter>,
    loops: Vec<Loop>,
    phase: Phase,
    /// Whether threads may be missing here.
    is_divergent: bool,
    /// Whether statements stand directly in a `switch`, where `break` means that.
    in_switch: bool,
    has_barriers: bool,
    /// Whether threads may return before barriers, which then are for the others.
    has_returns: bool,
    has_lanes: bool,
    has_atomics: bool,
    /// The variables of the function that is generated; in one, nothing else but inputs, parameters and arrays is used.
    function: Option<Vec<VarId>>,
    /// Statements that may still be made.
    budget: u32,
}

/// Statements of a kernel, at most; of one of four kernels more, since compiling takes most of the time.
const STATEMENTS_MAX: u32 = 16;
const STATEMENTS_MAX_LARGE: u32 = 28;

/// The kernel that `random` determines.
pub(super) fn kernel(name: String, random: &mut Random) -> Kernel {
    let mut generator = Generator::new(name, random);
    let mut body = generator.body();
    body.extend(generator.epilogue());
    generator.kernel.body = body;
    generator.kernel
}

impl<'run> Generator<'run> {
    fn new(name: String, random: &'run mut Random) -> Self {
        let mut inputs = vec![Scalar::I32, Scalar::F32];
        inputs.extend((0..2).map(|_| stored(random)));
        let slots = |random: &mut Random| 1 << random.below(3);
        let mut outputs = vec![Output { scalar: Scalar::U32, slots: 4, is_slot_major: random.below(2) == 0 }];
        for scalar in [Scalar::F32, stored(random)] {
            outputs.push(Output { scalar, slots: slots(random), is_slot_major: random.below(2) == 0 });
        }
        let mut variables = vec![Ty::I32, Ty::U32, Ty::F32, Ty::BOOL, Ty::U32, Ty::I32];
        let uniform = vec![4, 5];
        for _ in 0..4 {
            let lanes = [1, 1, 2, 3, 4][random.below(5) as usize];
            variables.push(Ty { scalar: stored(random), lanes });
        }
        let mut arrays: Vec<Scalar> = (0..random.below(3)).map(|_| stored(random)).collect();
        if arrays.len() == 2 && random.below(2) == 0 {
            arrays[1] = arrays[0];
        }
        let has_barriers = random.below(3) == 0;
        let shared = has_barriers.then(|| SharedArray { scalar: stored(random), is_reversed: random.below(3) == 0 });
        let mut pointers = Vec::new();
        for _ in 0..random.below(4) {
            let pointer = match random.below(5) {
                0 if !arrays.is_empty() => {
                    Pointer { scalar: arrays[random.below(2) as usize % arrays.len()], space: Space::Private }
                }
                1 => Pointer { scalar: outputs[random.below(3) as usize].scalar, space: Space::Output },
                2 if shared.is_some() => {
                    let scalar = shared.map_or(Scalar::U32, |shared: SharedArray| shared.scalar);
                    Pointer { scalar, space: Space::Shared }
                }
                _ => Pointer { scalar: inputs[random.below(4) as usize], space: Space::Input },
            };
            pointers.push(pointer);
            if random.below(3) == 0 {
                pointers.push(pointer);
            }
        }
        let dimensions = [1, 1, 1, 2, 3][random.below(5) as usize];
        let kernel = Kernel {
            name,
            dimensions,
            inputs,
            outputs,
            variables,
            function_variables: Vec::new(),
            arrays,
            pointers,
            shared,
            body: Vec::new(),
        };
        let most = if random.below(4) == 0 { STATEMENTS_MAX_LARGE } else { STATEMENTS_MAX };
        Self {
            kernel,
            uniform,
            counters: Vec::new(),
            loops: Vec::new(),
            phase: Phase::Read,
            is_divergent: false,
            in_switch: false,
            has_barriers,
            has_returns: random.below(3) == 0,
            has_lanes: random.below(2) == 0,
            has_atomics: random.below(4) == 0,
            function: None,
            budget: 6 + random.below(most - 6),
            random,
        }
    }

    fn one_in(&mut self, count: u32) -> bool {
        self.random.below(count) == 0
    }

    /// Below `limit`.
    fn number(&mut self, limit: usize) -> usize {
        self.random.below(u32::try_from(limit).expect("a small number")) as usize
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.number(choices.len())]
    }

    /// A new variable.
    fn variable(&mut self, ty: Ty) -> VarId {
        self.kernel.variables.push(ty);
        self.kernel.variables.len() - 1
    }
}

/// A type of memory; the common ones more often.
fn stored(random: &mut Random) -> Scalar {
    const COMMON: [Scalar; 4] = [Scalar::F32, Scalar::I32, Scalar::U32, Scalar::F16];
    if random.below(3) == 0 { COMMON[random.below(4) as usize] } else { Scalar::STORED[random.below(11) as usize] }
}

/// A grid for `kernel`: threadgroups of all kinds, many no multiple of 32 threads, and partial ones at the edges.
pub(super) fn grid(kernel: &Kernel, random: &mut Random) -> Grid {
    const LINES: [u32; 16] = [1, 3, 7, 16, 31, 32, 32, 33, 48, 64, 64, 65, 32, 96, 31, 256];
    const PLANES: [[u32; 2]; 16] = [
        [8, 8],
        [16, 9],
        [16, 16],
        [16, 3],
        [4, 12],
        [2, 17],
        [8, 16],
        [7, 5],
        [33, 2],
        [32, 4],
        [1, 40],
        [32, 1],
        [16, 2],
        [64, 2],
        [5, 13],
        [16, 4],
    ];
    const BOXES: [[u32; 3]; 8] =
        [[4, 4, 4], [3, 5, 7], [8, 2, 2], [32, 2, 2], [1, 1, 33], [2, 16, 3], [8, 4, 3], [16, 2, 2]];
    let group = match kernel.dimensions {
        1 => [LINES[random.below(16) as usize], 1, 1],
        2 => {
            let [x, y] = PLANES[random.below(16) as usize];
            [x, y, 1]
        }
        _ => BOXES[random.below(8) as usize],
    };
    let mut threads = [1_u32; 3];
    let mut left = u32::try_from(GRID_THREADS_MAX).expect("a small number");
    for axis in 0..kernel.dimensions {
        let whole = group[axis] * (1 + random.below(3));
        let size = if random.below(3) == 0 { whole } else { 1 + random.below(whole + 20) };
        threads[axis] = size.min(left).max(1);
        left /= threads[axis];
    }
    Grid { threads, group }
}

/// A constant of type `ty`.
fn constant(ty: Ty, value: i32) -> Expr {
    Expr::Const(ty, super::scalar::constant(ty.scalar, value))
}
