//! The runtime's lane operations against the table's references, for every operation, type and set of active lanes.

use openmps_air::element::{Element as TableElement, Sign};
use openmps_air::intrinsics::{self, LaneCall, Operation, Reference, rows};

use super::*;

/// SplitMix64.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn operation(of: intrinsics::LaneOperation) -> LaneOperation {
    let name = of.name().replace('_', "");
    let same = |candidate: &&LaneOperation| format!("{candidate:?}").to_lowercase() == name;
    *LaneOperation::ALL.iter().find(same).unwrap()
}

fn element(of: TableElement, sign: Option<Sign>) -> Element {
    match (of, sign) {
        (TableElement::F32, _) => Element::F32,
        (TableElement::F16, _) => Element::F16,
        (TableElement::Bf16, _) => Element::Bf16,
        (TableElement::I1, _) => Element::I1,
        (TableElement::I8, Some(Sign::Signed)) => Element::I8,
        (TableElement::I16, Some(Sign::Signed)) => Element::I16,
        (TableElement::I32, Some(Sign::Signed)) => Element::I32,
        (TableElement::I64, Some(Sign::Signed)) => Element::I64,
        (TableElement::I8, _) => Element::U8,
        (TableElement::I16, _) => Element::U16,
        (TableElement::I32, _) => Element::U32,
        (TableElement::I64, _) => Element::U64,
    }
}

#[test]
fn numbers_of_the_abi_are_places_in_the_lists() {
    for (number, operation) in LaneOperation::ALL.iter().enumerate() {
        assert_eq!(*operation as usize, number);
    }
    for (number, element) in Element::ALL.iter().enumerate() {
        assert_eq!(*element as usize, number);
    }
}

#[test]
fn every_operation_agrees_with_the_table() {
    let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    println!("seed {seed}");
    let mut state = seed;
    let mut checked = 0;
    for row in rows() {
        let (Operation::Simdgroup(of) | Operation::Quadgroup(of)) = row.operation else { continue };
        let Reference::Lanes(reference) = row.reference else { continue };
        let width = if matches!(row.operation, Operation::Simdgroup(_)) { 32 } else { 4 };
        let bits = row.element.bits();
        for turn in 0..20 {
            let value = |state: &mut u64| random(state) & (u64::MAX >> (64 - bits));
            let data: [u64; 32] = std::array::from_fn(|_| value(&mut state));
            let fill: [u64; 32] = std::array::from_fn(|_| value(&mut state));
            let active = if turn == 0 { u32::MAX } else { u32::try_from(random(&mut state) >> 32).unwrap() | 1 };
            let has_fill = row.name.contains("and_fill");
            let operand = u32::try_from(random(&mut state) % (width + 1)).unwrap();
            let modulo = 1 << (random(&mut state) % u64::from(width.ilog2() + 1));
            let operand = if has_fill { operand.min(modulo) } else { operand };
            let width = usize::try_from(width).unwrap();
            let lanes =
                Lanes { active, width, data: &data, fill: &fill, operand: &[operand; 32], modulo: &[modulo; 32] };
            let got = evaluate(operation(of), element(row.element, row.sign), &lanes);
            for lane in (0..32_u32).filter(|lane| active >> lane & 1 == 1) {
                let call = LaneCall { values: &data, fill: &fill, active, lane, operand, modulo };
                let mask = match row.signatures[0].result {
                    intrinsics::Slot::Lifted(element) | intrinsics::Slot::Scalar(element) => {
                        u64::MAX >> (64 - element.bits())
                    }
                    _ => u64::MAX,
                };
                let (got, expected) = (got[lane as usize] & mask, reference(&call) & mask);
                let is_nan = |bits| match element(row.element, row.sign).to_number(bits) {
                    Number::Float(value) => value.is_nan(),
                    Number::Integer(_) => false,
                };
                assert!(
                    got == expected || is_nan(got) && is_nan(expected),
                    "{} lane {lane} of {active:#x}, operand {operand}, modulo {modulo}: {got:#x}, expected {expected:#x}",
                    row.name
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 10_000, "the table has lane operations");
}

#[test]
fn matrix_positions_cover_the_matrix() {
    let mut seen = [[0; 8]; 8];
    for lane in 0..SIMD_WIDTH {
        let (row, column) = matrix_position(lane);
        seen[row][column] += 1;
        seen[row][column + 1] += 1;
    }
    assert_eq!(seen, [[1; 8]; 8]);
}
