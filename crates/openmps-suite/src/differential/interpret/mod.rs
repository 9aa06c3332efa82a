//! A plain interpreter: the threads of a threadgroup in lockstep, statement by statement.
//!
//! Every expression is computed for all threads, every statement acts on those that reach it. Threads that diverge at a branch
//! meet again at its end, those that leave a loop wait for the others behind it, and `continue` waits for the end of the turn.
//! So a barrier does nothing, and the active lanes of a function over lanes are known. Threadgroups run one after the other.
//!
//! What would make a result depend on more than that is found and refused ([`Invalid`]): races in threadgroup memory, barriers that
//! some threads miss, arithmetic that overflows where the text promises that it does not, elements outside of a buffer.

#[cfg(test)]
mod tests;
mod value;

use openmps_engine::Grid;

use super::memory::{Array, Inputs, Results};
use super::program::{
    ARRAY_ELEMENTS, AtomicOp, Builtin, Case, Counting, Expr, Function, Kernel, POINTED_ELEMENTS, SHARED_COUNTERS,
    Space, Stmt,
};
use super::scalar::{BinaryOp, Scalar, binary, convert};

/// Why a program has no meaning with these inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Invalid {
    /// Two threads use an element of threadgroup memory with no barrier between, one of them storing.
    Race,
    /// A barrier that not all threads reach together.
    DivergentBarrier,
    /// Arithmetic that is promised not to wrap.
    Overflow,
    /// An index outside of a buffer.
    OutOfBounds,
    /// It takes too long.
    TooLong,
}

/// Values of threads that a launch computes, at most: some milliseconds.
const VALUES_MAX: u64 = 400_000;

/// Threads that take part.
type Mask = Vec<bool>;

/// The loops around a statement: who left and who waits for the next turn.
struct Turn {
    left: Mask,
    waiting: Mask,
}

/// Who used an element of threadgroup memory since the last barrier.
#[derive(Clone, Copy, Default)]
struct Access {
    writer: Option<usize>,
    reader: Option<usize>,
    has_readers: bool,
}

impl Access {
    fn read(&mut self, thread: usize) -> Result<(), Invalid> {
        if self.writer.is_some_and(|writer| writer != thread) {
            return Err(Invalid::Race);
        }
        self.has_readers |= self.reader.is_some_and(|reader| reader != thread);
        self.reader = Some(thread);
        Ok(())
    }

    fn write(&mut self, thread: usize) -> Result<(), Invalid> {
        let others = |other: Option<usize>| other.is_some_and(|other| other != thread);
        if self.has_readers || others(self.reader) || others(self.writer) {
            return Err(Invalid::Race);
        }
        self.writer = Some(thread);
        Ok(())
    }
}

/// How counters were used since the last barrier.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CounterUse {
    Unused,
    Added,
    Read,
}

struct Threadgroup<'run> {
    kernel: &'run Kernel,
    inputs: &'run Inputs,
    results: &'run mut Results,
    grid: Grid,
    position: [u32; 3],
    size: [u32; 3],
    threads: usize,
    variables: Vec<Vec<Vec<u64>>>,
    arrays: Vec<Vec<Vec<u64>>>,
    /// Buffer and offset of each thread's pointers.
    pointers: Vec<Vec<(usize, usize)>>,
    shared: Vec<u64>,
    shared_access: Vec<Access>,
    counters: [u64; SHARED_COUNTERS],
    counter_use: CounterUse,
    returned: Mask,
    turns: Vec<Turn>,
    /// What the functions that run give so far, innermost last.
    given: Vec<Vec<Vec<u64>>>,
    /// Each thread's number in the grid.
    linear: Vec<u64>,
    steps: &'run mut u64,
}

/// Runs `kernel` over `grid` and changes `results` as it should.
///
/// # Errors
/// See [`Invalid`].
pub(super) fn run(kernel: &Kernel, grid: &Grid, inputs: &Inputs, results: &mut Results) -> Result<(), Invalid> {
    let [x, y, z] = grid.groups();
    let mut steps = 0;
    for number in 0..x * y * z {
        let position = [number % x, number / x % y, number / x / y];
        Threadgroup::new(kernel, (inputs, &mut *results), grid, position, &mut steps).run()?;
    }
    Ok(())
}

fn index(value: u64) -> usize {
    usize::try_from(value).expect("an index is small")
}

impl<'run> Threadgroup<'run> {
    fn new(
        kernel: &'run Kernel,
        (inputs, results): (&'run Inputs, &'run mut Results),
        grid: &Grid,
        position: [u32; 3],
        steps: &'run mut u64,
    ) -> Self {
        let size = grid.group_size_at(position);
        let threads = size.iter().product::<u32>() as usize;
        Self {
            kernel,
            inputs,
            results,
            grid: *grid,
            position,
            size,
            threads,
            variables: kernel.variables.iter().map(|ty| vec![vec![0; threads]; ty.lanes]).collect(),
            arrays: vec![vec![vec![0; threads]; ARRAY_ELEMENTS]; kernel.arrays.len()],
            pointers: kernel
                .pointers
                .iter()
                .map(|pointer| vec![(kernel.first_pointed(*pointer), 0); threads])
                .collect(),
            shared: vec![0; threads],
            shared_access: vec![Access::default(); threads],
            counters: [0; SHARED_COUNTERS],
            counter_use: CounterUse::Unused,
            returned: vec![false; threads],
            turns: Vec::new(),
            given: Vec::new(),
            linear: Vec::new(),
            steps,
        }
    }

    fn run(&mut self) -> Result<(), Invalid> {
        self.linear = self.built_in(Builtin::Linear);
        // What the prologue of the text stores before its barrier.
        if let Some(shared) = self.kernel.shared {
            let indices = self.built_in(Builtin::Index);
            let stored = convert(Scalar::U32, shared.scalar);
            for (thread, index) in indices.into_iter().enumerate() {
                let element = self.own_element(thread);
                self.shared[element] = stored(index);
            }
        }
        for pointer in 0..self.kernel.pointers.len() {
            for thread in 0..self.threads {
                self.pointers[pointer][thread].1 = match self.kernel.pointers[pointer].space {
                    Space::Shared => self.own_element(thread),
                    _ => self.pointed(pointer, self.pointers[pointer][thread].0, 0, thread),
                };
            }
        }
        self.block(&self.kernel.body, vec![true; self.threads])?;
        Ok(())
    }

    /// Counts `values` values of each thread.
    fn step(&mut self, values: u64) -> Result<(), Invalid> {
        *self.steps += values * self.threads as u64;
        if *self.steps > VALUES_MAX { Err(Invalid::TooLong) } else { Ok(()) }
    }

    fn built_in(&self, builtin: Builtin) -> Vec<u64> {
        let [size_x, size_y, _] = self.size.map(u64::from);
        let [grid_x, grid_y, _] = self.grid.threads.map(u64::from);
        let place = |thread: u64, axis: usize| match axis {
            0 => thread % size_x,
            1 => thread / size_x % size_y,
            _ => thread / size_x / size_y,
        };
        let in_grid = |thread: u64, axis: usize| {
            u64::from(self.position[axis]) * u64::from(self.grid.group[axis]) + place(thread, axis)
        };
        let of = |thread: u64| match builtin {
            Builtin::Grid(axis) => in_grid(thread, axis),
            Builtin::Local(axis) => place(thread, axis),
            Builtin::Group(axis) => u64::from(self.position[axis]),
            Builtin::GridSize(axis) => u64::from(self.grid.threads[axis]),
            Builtin::GroupSize(axis) => u64::from(self.size[axis]),
            Builtin::Linear => in_grid(thread, 0) + grid_x * (in_grid(thread, 1) + grid_y * in_grid(thread, 2)),
            Builtin::Index => thread,
            Builtin::Lane => thread % 32,
            Builtin::Simdgroup => thread / 32,
            Builtin::GroupThreads => self.threads as u64,
            Builtin::GridThreads => self.grid.threads.iter().map(|threads| u64::from(*threads)).product(),
        };
        (0..self.threads as u64).map(of).collect()
    }

    /// The thread's element of the threadgroup array.
    fn own_element(&self, thread: usize) -> usize {
        if self.kernel.shared_array().is_reversed { self.threads - 1 - thread } else { thread }
    }

    /// Runs `body` on the threads of `mask`; returns those that reach its end.
    fn block(&mut self, body: &[Stmt], mut mask: Mask) -> Result<Mask, Invalid> {
        for statement in body {
            if !mask.contains(&true) {
                break;
            }
            self.step(1)?;
            mask = self.statement(statement, mask)?;
        }
        Ok(mask)
    }

    fn statement(&mut self, statement: &Stmt, mask: Mask) -> Result<Mask, Invalid> {
        match statement {
            Stmt::Set(variable, value) => {
                let value = self.value(value, &mask)?;
                for (lane, column) in value.columns.into_iter().enumerate() {
                    keep(&mut self.variables[*variable][lane], &column, &mask);
                }
            }
            Stmt::SetLane(variable, lane, value) => {
                let value = self.value(value, &mask)?.scalar();
                keep(&mut self.variables[*variable][*lane], &value, &mask);
            }
            Stmt::SetElement { array, index: at, value } => {
                let (at, value) = (self.value(at, &mask)?.scalar(), self.value(value, &mask)?.scalar());
                for thread in active(&mask) {
                    self.arrays[*array][index(at[thread]) % ARRAY_ELEMENTS][thread] = value[thread];
                }
            }
            Stmt::Store { output, slot, value } => {
                let (slot, value) = (self.value(slot, &mask)?.scalar(), self.value(value, &mask)?.scalar());
                for thread in active(&mask) {
                    let at = self.own_place(*output, self.linear[thread], slot[thread]);
                    self.results.outputs[*output].set(at, value[thread]);
                }
            }
            Stmt::StoreShared(value) => {
                let value = self.value(value, &mask)?.scalar();
                for thread in active(&mask) {
                    let element = self.own_element(thread);
                    self.shared_access[element].write(thread)?;
                    self.shared[element] = value[thread];
                }
            }
            Stmt::Atomic { op, slot, value } => self.atomic(*op, slot, value, &mask)?,
            Stmt::PointTo { pointer, buffer, offset } => {
                let offset = self.value(offset, &mask)?.scalar();
                for thread in active(&mask) {
                    self.pointers[*pointer][thread] =
                        (*buffer, self.pointed(*pointer, *buffer, offset[thread], thread));
                }
            }
            Stmt::StoreThrough { pointer, index: at, value } => {
                let (at, value) = (self.value(at, &mask)?.scalar(), self.value(value, &mask)?.scalar());
                for thread in active(&mask) {
                    let (buffer, offset) = self.pointers[*pointer][thread];
                    match self.kernel.pointers[*pointer].space {
                        Space::Output => self.results.outputs[buffer].set(offset, value[thread]),
                        Space::Private => {
                            let element = offset + index(at[thread]) % POINTED_ELEMENTS;
                            self.arrays[buffer][element][thread] = value[thread];
                        }
                        space @ (Space::Input | Space::Shared) => unreachable!("nothing is stored to {space:?}"),
                    }
                }
            }
            Stmt::PointElsewhere { pointer, condition, other } => {
                let condition = self.value(condition, &mask)?.scalar();
                for thread in active(&mask).filter(|thread| condition[*thread] == 1) {
                    self.pointers[*pointer][thread] = self.pointers[*other][thread];
                }
            }
            Stmt::Advance { pointer, by } => {
                active(&mask).for_each(|thread| self.pointers[*pointer][thread].1 += by);
            }
            Stmt::Lanes { target, call } => {
                let columns = self.lanes(call, &mask)?;
                for (lane, column) in columns.into_iter().enumerate() {
                    keep(&mut self.variables[*target][lane], &column, &mask);
                }
            }
            Stmt::Barrier => {
                if mask.iter().zip(&self.returned).any(|(active, returned)| !active && !returned) {
                    return Err(Invalid::DivergentBarrier);
                }
                self.shared_access.fill(Access::default());
                self.counter_use = CounterUse::Unused;
            }
            Stmt::SimdgroupBarrier => {}
            Stmt::If { condition, then, otherwise } => return self.branch(condition, then, otherwise, &mask),
            Stmt::For { counter, counting, count, modulo, body } => {
                return self.counted(*counter, *counting, (count, *modulo), body, mask);
            }
            Stmt::While { condition, turns, is_tested_last, body } => {
                return self.repeated(condition, *turns, *is_tested_last, body, mask);
            }
            Stmt::Switch { selector, cases } => return self.switch(selector, cases, &mask),
            Stmt::Entered { selector, condition, turns, first, second } => {
                return self.entered(selector, (condition, *turns), [first, second], mask);
            }
            Stmt::Call { target, function, arguments } => self.call(*target, function, arguments, &mask)?,
            Stmt::Leave(value) => {
                let value = self.value(value, &mask)?;
                self.give(value, &mask);
                return Ok(vec![false; self.threads]);
            }
            Stmt::Break => {
                let turn = self.turns.last_mut().expect("a loop is around it");
                turn.left.iter_mut().zip(&mask).for_each(|(left, leaves)| *left |= leaves);
                return Ok(vec![false; self.threads]);
            }
            Stmt::Continue => {
                let turn = self.turns.last_mut().expect("a loop is around it");
                turn.waiting.iter_mut().zip(&mask).for_each(|(waiting, waits)| *waiting |= waits);
                return Ok(vec![false; self.threads]);
            }
            Stmt::Return => {
                self.returned.iter_mut().zip(&mask).for_each(|(returned, returns)| *returned |= returns);
                return Ok(vec![false; self.threads]);
            }
        }
        Ok(mask)
    }

    /// Where `pointer` points to for an offset in buffer or array `buffer`.
    fn pointed(&self, pointer: usize, buffer: usize, offset: u64, thread: usize) -> usize {
        match self.kernel.pointers[pointer].space {
            Space::Input => index(offset),
            Space::Output => self.own_place(buffer, self.linear[thread], offset),
            Space::Private => index(offset) % POINTED_ELEMENTS,
            Space::Shared => index(offset) % self.threads,
        }
    }

    /// Keeps the result of the function that runs.
    fn give(&mut self, value: value::Value, mask: &Mask) {
        let results = self.given.last_mut().expect("a function runs");
        for (result, column) in results.iter_mut().zip(&value.columns) {
            keep(result, column, mask);
        }
    }

    fn call(&mut self, target: usize, function: &Function, arguments: &[Expr], mask: &Mask) -> Result<(), Invalid> {
        for (parameter, argument) in function.parameters.iter().zip(arguments) {
            let value = self.value(argument, mask)?;
            for (variable, column) in self.variables[*parameter].iter_mut().zip(&value.columns) {
                keep(variable, column, mask);
            }
        }
        let nothing = vec![0; self.threads];
        for local in &function.locals {
            self.variables[*local].iter_mut().for_each(|variable| keep(variable, &nothing, mask));
        }
        let lanes = self.kernel.variables[target].lanes;
        self.given.push(vec![nothing; lanes]);
        let reached = self.block(&function.body, mask.clone())?;
        if reached.contains(&true) {
            let value = self.value(&function.result, &reached)?;
            self.give(value, &reached);
        }
        let results = self.given.pop().expect("pushed above");
        for (variable, column) in self.variables[target].iter_mut().zip(&results) {
            keep(variable, column, mask);
        }
        Ok(())
    }

    /// A loop that threads with an odd selector enter in the middle.
    fn entered(
        &mut self,
        selector: &Expr,
        (condition, turns): (&Expr, u32),
        [first, second]: [&[Stmt]; 2],
        mask: Mask,
    ) -> Result<Mask, Invalid> {
        let selector = self.value(selector, &mask)?.scalar();
        let odd: Vec<bool> = selector.iter().map(|bits| bits & 1 == 1).collect();
        let (mut middle, mut running) = (both(&mask, &odd), except(&mask, &odd));
        let mut done = vec![false; self.threads];
        let mut counts = vec![0; self.threads];
        loop {
            let is_left: Vec<bool> = counts.iter().map(|count| *count < turns).collect();
            let goes_on =
                if running.contains(&true) { both(&self.condition(condition, &running)?, &is_left) } else { is_left };
            done = either(&done, &except(&running, &goes_on));
            running = both(&running, &goes_on);
            if !running.contains(&true) && !middle.contains(&true) {
                return Ok(done);
            }
            active(&running).for_each(|thread| counts[thread] += 1);
            let nobody = vec![false; self.threads];
            self.turns.push(Turn { left: nobody.clone(), waiting: nobody });
            let reached = self.block(first, running)?;
            let reached = self.block(second, either(&reached, &middle))?;
            let turn = self.turns.pop().expect("pushed above");
            middle = vec![false; self.threads];
            running = either(&reached, &turn.waiting);
            done = either(&done, &turn.left);
        }
    }

    fn own_place(&self, output: usize, linear: u64, slot: u64) -> usize {
        let place = self.kernel.outputs[output];
        let (linear, slot) = (index(linear), index(slot) % place.slots);
        let threads: usize = self.grid.threads.iter().map(|threads| *threads as usize).product();
        if place.is_slot_major { slot * threads + linear } else { linear * place.slots + slot }
    }

    fn condition(&mut self, condition: &Expr, mask: &Mask) -> Result<Vec<bool>, Invalid> {
        Ok(self.value(condition, mask)?.scalar().into_iter().map(|bit| bit == 1).collect())
    }

    fn branch(&mut self, condition: &Expr, then: &[Stmt], otherwise: &[Stmt], mask: &Mask) -> Result<Mask, Invalid> {
        let condition = self.condition(condition, mask)?;
        let taken = both(mask, &condition);
        let not_taken = except(mask, &condition);
        let taken = self.block(then, taken)?;
        let not_taken = self.block(otherwise, not_taken)?;
        Ok(either(&taken, &not_taken))
    }

    fn counted(
        &mut self,
        counter: usize,
        counting: Counting,
        (count, modulo): (&Expr, u32),
        body: &[Stmt],
        mask: Mask,
    ) -> Result<Mask, Invalid> {
        let counts = self.value(count, &mask)?.scalar();
        let counts: Vec<u64> = counts.into_iter().map(|count| count % u64::from(modulo)).collect();
        let stride = if counting == Counting::ByTwo { 2 } else { 1 };
        let mut done = vec![false; self.threads];
        let mut running = mask;
        let mut first = 0;
        loop {
            let goes_on: Vec<bool> = counts.iter().map(|count| first < *count).collect();
            done = either(&done, &except(&running, &goes_on));
            running = both(&running, &goes_on);
            if !running.contains(&true) {
                return Ok(done);
            }
            for thread in active(&running) {
                let value = if counting == Counting::Down { counts[thread] - 1 - first } else { first };
                self.variables[counter][0][thread] = value;
            }
            (running, done) = self.turn(body, running, done)?;
            first += stride;
        }
    }

    fn repeated(
        &mut self,
        condition: &Expr,
        turns: u32,
        is_tested_last: bool,
        body: &[Stmt],
        mask: Mask,
    ) -> Result<Mask, Invalid> {
        let mut done = vec![false; self.threads];
        let mut running = mask;
        for number in 0.. {
            if number > 0 || !is_tested_last {
                if number >= turns {
                    return Ok(either(&done, &running));
                }
                let goes_on = self.condition(condition, &running)?;
                done = either(&done, &except(&running, &goes_on));
                running = both(&running, &goes_on);
            }
            if !running.contains(&true) {
                break;
            }
            (running, done) = self.turn(body, running, done)?;
        }
        Ok(done)
    }

    /// One turn of a loop: who goes on, and who is done.
    fn turn(&mut self, body: &[Stmt], running: Mask, done: Mask) -> Result<(Mask, Mask), Invalid> {
        let nobody = vec![false; self.threads];
        self.turns.push(Turn { left: nobody.clone(), waiting: nobody });
        let reached = self.block(body, running)?;
        let turn = self.turns.pop().expect("pushed above");
        Ok((either(&reached, &turn.waiting), either(&done, &turn.left)))
    }

    fn switch(&mut self, selector: &Expr, cases: &[Case], mask: &Mask) -> Result<Mask, Invalid> {
        let selector = self.value(selector, mask)?.scalar();
        let last = cases.len() - 1;
        let mut done = vec![false; self.threads];
        let mut falling = vec![false; self.threads];
        for (number, case) in cases.iter().enumerate() {
            let is_here = |value: &u64| index(value % 4).min(last) == number;
            let selected: Vec<bool> = selector.iter().map(is_here).collect();
            let entering = either(&both(mask, &selected), &falling);
            let reached = self.block(&case.body, entering)?;
            if case.falls_through && number < last {
                falling = reached;
            } else {
                falling = vec![false; self.threads];
                done = either(&done, &reached);
            }
        }
        Ok(done)
    }

    fn atomic(&mut self, op: AtomicOp, slot: &Expr, value: &Expr, mask: &Mask) -> Result<(), Invalid> {
        let (slot, value) = (self.value(slot, mask)?.scalar(), self.value(value, mask)?.scalar());
        if op == AtomicOp::AddShared {
            if self.counter_use == CounterUse::Read {
                return Err(Invalid::Race);
            }
            self.counter_use = CounterUse::Added;
        }
        for thread in active(mask) {
            let (slot, value) = (index(slot[thread]), value[thread]);
            let on = |words: &mut Array, first: usize, slots: usize, op: BinaryOp, scalar: Scalar| {
                let at = first + slot % slots;
                words.set(at, binary(op, scalar)(words.get(at), value));
            };
            let (unsigned, signed, floats) =
                (&mut self.results.unsigned, &mut self.results.signed, &mut self.results.floats);
            match op {
                AtomicOp::Add => on(unsigned, 0, 16, BinaryOp::Add, Scalar::U32),
                AtomicOp::Min => on(unsigned, 16, 16, BinaryOp::Function("min", "min", true), Scalar::U32),
                AtomicOp::Max => on(unsigned, 32, 16, BinaryOp::Function("max", "max", true), Scalar::U32),
                AtomicOp::Or => on(unsigned, 48, 8, BinaryOp::Or, Scalar::U32),
                AtomicOp::Xor => on(unsigned, 56, 8, BinaryOp::Xor, Scalar::U32),
                AtomicOp::AddFloat => on(floats, 0, 64, BinaryOp::Add, Scalar::F32),
                AtomicOp::MaxSigned => on(signed, 0, 64, BinaryOp::Function("max", "max", true), Scalar::I32),
                AtomicOp::AddShared => {
                    let counter = &mut self.counters[slot % SHARED_COUNTERS % self.threads];
                    *counter = (*counter + value) & 0xffff_ffff;
                }
            }
        }
        Ok(())
    }
}

/// What masked indices of loads of `lanes` elements are taken modulo of, minus 1.
pub(super) fn load_mask(lanes: usize) -> u64 {
    match lanes {
        1 => 4095,
        2 => 2047,
        _ => 1023,
    }
}

fn active(mask: &Mask) -> impl Iterator<Item = usize> {
    mask.iter().enumerate().filter_map(|(thread, active)| active.then_some(thread))
}

fn keep(target: &mut [u64], value: &[u64], mask: &Mask) {
    for ((target, value), active) in target.iter_mut().zip(value).zip(mask) {
        if *active {
            *target = *value;
        }
    }
}

fn both(a: &[bool], b: &[bool]) -> Mask {
    a.iter().zip(b).map(|(a, b)| *a && *b).collect()
}

fn except(a: &[bool], b: &[bool]) -> Mask {
    a.iter().zip(b).map(|(a, b)| *a && !*b).collect()
}

fn either(a: &[bool], b: &[bool]) -> Mask {
    a.iter().zip(b).map(|(a, b)| *a || *b).collect()
}
