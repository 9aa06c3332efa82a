//! `simdgroup_matrix` products: each lane holds two neighbouring elements of an 8x8 matrix, so that two vectors are one matrix.

use openmps_llvm::{Instruction, Value};

use super::super::refusal::Refusal;
use super::Emitter;
use crate::abi::SIMD_WIDTH;
use crate::lanes::matrix_position;

/// Rows and columns.
const SIDE: usize = 8;

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
