//! `simdgroup_matrix`: each lane holds two neighbouring elements of an 8x8 matrix, so that two vectors are one matrix. Lanes 0 to 15
//! hold the upper four rows, the others the lower four, which is why shuffles are done on halves.

use openmps_llvm::{CastOp, Instruction, Opcode, PlainOp, Type, Value};

use super::super::refusal::Refusal;
use super::{Emitter, WIDTH};
use crate::abi::SIMD_WIDTH;
use crate::lanes::matrix_position;

/// Rows and columns.
const SIDE: usize = 8;
/// Lanes that hold half of the rows.
const HALF: usize = SIMD_WIDTH / 2;

/// Distances in memory, in elements.
struct Steps<'m> {
    row: Value<'m>,
    column: Value<'m>,
}

/// What lies side by side in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runs {
    Rows,
    Columns,
}

/// The number of a row or column and the place in it.
fn in_run(runs: Runs, row: usize, column: usize) -> (usize, usize) {
    match runs {
        Runs::Rows => (row, column),
        Runs::Columns => (column, row),
    }
}

fn number(value: usize) -> Option<u32> {
    u32::try_from(value).ok()
}

/// The lane that holds the element, and the two around it.
fn lane_of(row: usize, column: usize) -> Option<u32> {
    let lane = (0..SIMD_WIDTH).find(|&lane| matrix_position(lane) == (row, column & !1))?;
    u32::try_from(lane).ok()
}

impl<'m> Emitter<'_, 'm> {
    /// A·B + C from two elements a lane of each, products accumulated in order of the inner index.
    pub(super) fn matrix_product(&mut self, call: Instruction<'m>) -> Result<(), Refusal> {
        let mut words = Vec::new();
        for argument in call.arguments() {
            words.push(self.vector(argument)?);
        }
        let [a0, a1, b0, b1, mut c0, mut c1] = words[..] else { return Err(Refusal::Instruction) };
        for inner in 0..SIDE {
            let a = if inner % 2 == 0 { a0 } else { a1 };
            let of_row = self.spread(a, |row, _| lane_of(row, inner));
            let left = self.spread(b0, |_, column| lane_of(inner, column));
            let right = self.spread(b1, |_, column| lane_of(inner, column));
            c0 = self.multiply_add(of_row, left, c0);
            c1 = self.multiply_add(of_row, right, c1);
        }
        let pair = self.wide(call.ty())?.poison();
        let pair = self.builder.insert_value(pair, c0, 0);
        let pair = self.builder.insert_value(pair, c1, 1);
        self.set_vector(call.as_value(), pair);
        Ok(())
    }

    /// Reads a matrix.
    pub(super) fn matrix_load(&mut self, call: Instruction<'m>) -> Result<(), Refusal> {
        let [start, row, column] = call.arguments()[..] else { return Err(Refusal::Instruction) };
        let ty = call.ty().fields()[0];
        let steps = Steps { row, column };
        let elements = match self.runs(start, &steps) {
            Some(runs) => {
                let loaded = self.read_runs(ty, start, &steps, runs);
                if runs == Runs::Rows {
                    self.matrix_rows.insert(call.as_value(), loaded.clone());
                }
                self.lanes_of_runs(&loaded, runs)
            }
            None => {
                let mut elements = Vec::new();
                for addresses in self.element_addresses(ty, start, &steps)? {
                    elements.push(self.gather_elements(ty, self.module.alignment_bytes(ty), addresses)?);
                }
                elements
            }
        };
        let pair = self.wide(call.ty())?.poison();
        let pair = self.builder.insert_value(pair, elements[0], 0);
        let pair = self.builder.insert_value(pair, elements[1], 1);
        self.set_vector(call.as_value(), pair);
        Ok(())
    }

    /// Writes a matrix.
    pub(super) fn matrix_store(&mut self, call: Instruction<'m>) -> Result<(), Refusal> {
        let [first, second, start, row, column] = call.arguments()[..] else { return Err(Refusal::Instruction) };
        let ty = first.ty();
        let steps = Steps { row, column };
        if let Some(runs) = self.runs(start, &steps) {
            return self.store_whole(first, second, start, &steps, runs);
        }
        let elements = [self.vector(first)?, self.vector(second)?];
        for (lanes, addresses) in elements.into_iter().zip(self.element_addresses(ty, start, &steps)?) {
            self.scatter_elements(self.module.alignment_bytes(ty), lanes, addresses)?;
        }
        Ok(())
    }

    /// Writes a matrix whose memory no other threads see, whatever lanes are active.
    pub(super) fn outer_store(&mut self, call: Instruction<'m>) -> Result<(), Refusal> {
        let [first, second, start, row, column] = call.arguments()[..] else { return Err(Refusal::Instruction) };
        self.store_whole(first, second, start, &Steps { row, column }, Runs::Rows)
    }

    /// Reads such a matrix.
    pub(super) fn outer_load(&mut self, call: Instruction<'m>) -> Result<(), Refusal> {
        let [start, row, column] = call.arguments()[..] else { return Err(Refusal::Instruction) };
        let loaded = self.read_runs(call.ty().fields()[0], start, &Steps { row, column }, Runs::Rows);
        let elements = self.lanes_of_runs(&loaded, Runs::Rows);
        let pair = self.wide(call.ty())?.poison();
        let pair = self.builder.insert_value(pair, elements[0], 0);
        let pair = self.builder.insert_value(pair, elements[1], 1);
        self.set_vector(call.as_value(), pair);
        Ok(())
    }

    fn store_whole(
        &mut self,
        first: Value<'m>,
        second: Value<'m>,
        start: Value<'m>,
        steps: &Steps<'m>,
        runs: Runs,
    ) -> Result<(), Refusal> {
        let Some(rows) = self.known_rows(first, second).filter(|_| runs == Runs::Rows) else {
            let elements = [self.vector(first)?, self.vector(second)?];
            self.store_runs(elements, start, steps, runs);
            return Ok(());
        };
        let align = self.module.alignment_bytes(first.ty());
        for (address, row) in self.run_addresses(first.ty(), start, steps, Runs::Rows).into_iter().zip(rows) {
            self.builder.store(row, address).set_alignment(align);
        }
        Ok(())
    }

    /// What can be read and written at once, where all lanes take part and mean the same matrix.
    fn runs(&self, start: Value<'m>, steps: &Steps<'m>) -> Option<Runs> {
        let is_shared = |value: Value<'m>| self.analysis.shape(value).is_uniform();
        let is_whole = self.mask.is_none() && [start, steps.row, steps.column].into_iter().all(is_shared);
        match (steps.row.as_const_int(), steps.column.as_const_int()) {
            (_, Some(1)) if is_whole => Some(Runs::Rows),
            (Some(1), _) if is_whole => Some(Runs::Columns),
            _ => None,
        }
    }

    /// The addresses of each lane's two elements.
    fn element_addresses(
        &mut self,
        ty: Type<'m>,
        start: Value<'m>,
        steps: &Steps<'m>,
    ) -> Result<[Value<'m>; 2], Refusal> {
        let start = self.vector(start)?;
        let (row_step, column_step) = (self.vector(steps.row)?, self.vector(steps.column)?);
        let position = |lane: i64| matrix_position(usize::try_from(lane).unwrap_or(0));
        let place = |value: usize| i64::try_from(value).unwrap_or(0);
        let long = self.context().i64();
        let rows = self.constant_lanes(long, |lane| place(position(lane).0));
        let down = self.builder.mul(rows, row_step);
        Ok([0, 1].map(|element| {
            let columns = self.constant_lanes(long, |lane| place(position(lane).1 + element));
            let right = self.builder.mul(columns, column_step);
            self.builder.gep(ty, start, &[self.builder.add(down, right)])
        }))
    }

    /// The address of each row or column.
    fn run_addresses(&mut self, ty: Type<'m>, start: Value<'m>, steps: &Steps<'m>, runs: Runs) -> Vec<Value<'m>> {
        let start = self.scalar(start);
        let step = self.scalar(if runs == Runs::Rows { steps.row } else { steps.column });
        let long = self.context().i64();
        (0..SIDE as u64)
            .map(|run| {
                let offset = self.builder.mul(step, long.const_int(run));
                self.builder.gep(ty, start, &[offset])
            })
            .collect()
    }

    fn read_runs(&mut self, ty: Type<'m>, start: Value<'m>, steps: &Steps<'m>, runs: Runs) -> Vec<Value<'m>> {
        let run_ty = self.context().vector(ty, number(SIDE).expect("8"));
        let align = self.module.alignment_bytes(ty);
        let mut loaded = Vec::new();
        for address in self.run_addresses(ty, start, steps, runs) {
            let run = self.builder.load(run_ty, address);
            run.set_alignment(align);
            loaded.push(run.as_value());
        }
        loaded
    }

    fn lanes_of_runs(&self, loaded: &[Value<'m>], runs: Runs) -> Vec<Value<'m>> {
        let pairs: Vec<Value<'m>> = loaded.chunks(2).map(|pair| self.joined(pair[0], pair[1])).collect();
        (0..2)
            .map(|element| {
                let half = |first_lane: usize| self.half_of_runs(&pairs, runs, first_lane, element);
                self.joined(half(0), half(HALF))
            })
            .collect()
    }

    /// The rows of a matrix that was read in this block, perhaps as narrower numbers, if the two elements are its.
    fn known_rows(&self, first: Value<'m>, second: Value<'m>) -> Option<Vec<Value<'m>>> {
        let source = |element: Value<'m>, index: u32| {
            let mut extract = element.as_instruction()?;
            if extract.opcode() == Opcode::Cast(CastOp::FpExt) {
                extract = extract.operand(0).as_instruction()?;
            }
            let is_it = extract.opcode().is(PlainOp::ExtractValue) && extract.indices() == [index];
            is_it.then(|| extract.operand(0))
        };
        let matrix = source(first, 0).filter(|&matrix| source(second, 1) == Some(matrix))?;
        let rows = self.matrix_rows.get(&matrix)?;
        let ty = self.context().vector(first.ty(), number(SIDE)?);
        let widened = |&row: &Value<'m>| match row.ty() == ty {
            true => row,
            false => self.builder.fp_ext(row, ty),
        };
        (first.ty() == second.ty()).then(|| rows.iter().map(widened).collect())
    }

    /// Elements of 16 lanes out of pairs of rows or columns.
    fn half_of_runs(&self, pairs: &[Value<'m>], runs: Runs, first_lane: usize, element: usize) -> Value<'m> {
        let places: Vec<(usize, usize)> = (first_lane..first_lane + HALF)
            .map(|lane| {
                let (row, column) = matrix_position(lane);
                in_run(runs, row, column + element)
            })
            .collect();
        // Two pairs at a time: what is in neither stays as it was.
        let mut result: Option<Value<'m>> = None;
        for (number_of_quad, quad) in (0..).zip(pairs.chunks(2)) {
            let first_run = 4 * number_of_quad;
            let is_here = |run: usize| (first_run..first_run + 4).contains(&run);
            if !places.iter().any(|&(run, _)| is_here(run)) {
                continue;
            }
            let sources: Vec<Option<u32>> = places
                .iter()
                .map(|&(run, place)| if is_here(run) { number((run - first_run) * SIDE + place) } else { None })
                .collect();
            let own = self.builder.shuffle(quad[0], quad[1], &sources);
            result = Some(match result {
                None => own,
                Some(before) => {
                    let choice: Vec<Option<u32>> = (0..HALF)
                        .map(|lane| number(if is_here(places[lane].0) { HALF + lane } else { lane }))
                        .collect();
                    self.builder.shuffle(before, own, &choice)
                }
            });
        }
        result.expect("each lane has a place in a row or column")
    }

    fn store_runs(&mut self, elements: [Value<'m>; 2], start: Value<'m>, steps: &Steps<'m>, runs: Runs) {
        let ty = elements[0].ty().scalar();
        let align = self.module.alignment_bytes(ty);
        let addresses = self.run_addresses(ty, start, steps, runs);
        for (run, address) in addresses.into_iter().enumerate() {
            let sources: Vec<Option<u32>> = (0..SIDE)
                .map(|place| {
                    let (row, column) = in_run(runs, run, place);
                    lane_of(row, column).map(|lane| lane + if column % 2 == 0 { 0 } else { WIDTH })
                })
                .collect();
            let values = self.builder.shuffle(elements[0], elements[1], &sources);
            self.builder.store(values, address).set_alignment(align);
        }
    }

    /// One vector behind the other.
    fn joined(&self, first: Value<'m>, second: Value<'m>) -> Value<'m> {
        let all: Vec<Option<u32>> = (0..2 * first.ty().lanes()).map(Some).collect();
        self.builder.shuffle(first, second, &all)
    }

    /// Each lane's value from the lane that its row and column name.
    fn spread(&self, values: Value<'m>, source: impl Fn(usize, usize) -> Option<u32>) -> Value<'m> {
        let sources: Vec<Option<u32>> = (0..SIMD_WIDTH)
            .map(|lane| {
                let (row, column) = matrix_position(lane);
                source(row, column)
            })
            .collect();
        self.builder.shuffle(values, values.ty().poison(), &sources)
    }

    fn multiply_add(&self, a: Value<'m>, b: Value<'m>, c: Value<'m>) -> Value<'m> {
        self.builder.intrinsic("llvm.fma", &[a.ty()], &[a, b, c]).as_value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_has_a_lane() {
        for row in 0..SIDE {
            for column in 0..SIDE {
                let lane = lane_of(row, column).unwrap();
                assert_eq!(matrix_position(lane as usize), (row, column & !1));
            }
        }
    }
}
