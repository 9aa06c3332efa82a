//! Names of the functions that stand for operations over the lanes of a SIMD-group between lowering and vectorisation:
//! `openmps_lane.<operation>.<element>.<width>`, with numbers for [`LaneOperation`] and [`Element`].
//!
//! Operands: the lane's value (absent where the operation has none), the fill value of fill shuffles, then the lane number, delta
//! or mask, and the modulo, as `i32`. The result is the lane's.
//!
//! `openmps_matrix_load.<type>.<space>` and `openmps_matrix_store.<type>.<space>` read and write the two elements of an 8x8 matrix that a lane holds:
//! pair of elements (store), address of the matrix's first element, distances of rows and of columns in elements as `i64`.

use crate::lanes::{Element, LaneOperation};

/// What all these names start with.
pub(crate) const PREFIX: &str = "openmps_lane.";
/// What the names of reads of matrices start with, before the element's LLVM type and the address space.
pub(crate) const MATRIX_LOAD: &str = "openmps_matrix_load.";
/// The same for writes.
pub(crate) const MATRIX_STORE: &str = "openmps_matrix_store.";
/// What the names of operations on blocks of sums start with.
pub(super) const OUTER_PREFIX: &str = "openmps_outer_";
/// The memory of a block of sums ([`super::outer`]), of so many bytes: one for all lanes.
pub(super) const OUTER_MEMORY: &str = "openmps_outer_memory";
/// Its panels are empty.
pub(super) const OUTER_BEGIN: &str = "openmps_outer_begin";
/// How many inner indices its panels hold.
pub(super) const OUTER_FILLED: &str = "openmps_outer_filled";
/// Writes a matrix there: its two elements, address, distances of rows and columns.
pub(super) const OUTER_STORE: &str = "openmps_outer_store.";
/// Reads one.
pub(super) const OUTER_LOAD: &str = "openmps_outer_load.";
/// [`crate::outer::step`].
pub(super) const OUTER_STEP: &str = "openmps_outer_step";
/// [`crate::outer::finish`].
pub(super) const OUTER_FINISH: &str = "openmps_outer_finish";
/// The function that tells a lane its number.
pub(crate) const LANE_INDEX: &str = "openmps_lane_index";

/// A lane operation in a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Marker {
    pub(crate) operation: LaneOperation,
    pub(crate) element: Element,
    /// Lanes that compute together: 32 or 4.
    pub(crate) width: u32,
}

impl Marker {
    pub(crate) fn name(self) -> String {
        format!("{PREFIX}{}.{}.{}", self.operation as u32, self.element as u32, self.width)
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        let mut numbers = name.strip_prefix(PREFIX)?.split('.').map(str::parse::<usize>);
        let mut next = || numbers.next()?.ok();
        let operation = *LaneOperation::ALL.get(next()?)?;
        let element = *Element::ALL.get(next()?)?;
        let width = u32::try_from(next()?).ok()?;
        Some(Self { operation, element, width })
    }

    /// Whether all lanes get the same result, when the operand that names a lane is uniform or absent.
    pub(crate) fn is_uniform(self, operand_is_uniform: bool) -> bool {
        use LaneOperation as Op;
        self.width == 32
            && match self.operation {
                Op::Sum
                | Op::Product
                | Op::Min
                | Op::Max
                | Op::And
                | Op::Or
                | Op::Xor
                | Op::All
                | Op::Any
                | Op::Ballot
                | Op::ActiveThreadsMask
                | Op::BroadcastFirst
                | Op::Barrier => true,
                Op::Broadcast | Op::VoteAll | Op::VoteAny => operand_is_uniform,
                Op::PrefixInclusiveSum
                | Op::PrefixExclusiveSum
                | Op::PrefixInclusiveProduct
                | Op::PrefixExclusiveProduct
                | Op::IsFirst
                | Op::Shuffle
                | Op::ShuffleUp
                | Op::ShuffleDown
                | Op::ShuffleXor
                | Op::ShuffleRotateUp
                | Op::ShuffleRotateDown
                | Op::ShuffleAndFillUp
                | Op::ShuffleAndFillDown
                | Op::MatrixMultiplyAccumulate
                | Op::Copy => false,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for operation in LaneOperation::ALL {
            for element in Element::ALL {
                for width in [4, 32] {
                    let marker = Marker { operation, element, width };
                    assert_eq!(Marker::parse(&marker.name()), Some(marker));
                }
            }
        }
        for name in ["openmps_lane", "openmps_lane_index", "openmps_lane.1", "openmps_lane.99.0.32"] {
            assert_eq!(Marker::parse(name), None, "{name}");
        }
    }
}
