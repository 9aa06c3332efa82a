//! All rows in one list, and finding a row by name.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::{
    Lift, Resolved, Row, atomic, barrier, convert, execution, integer, lanes, math, matrix, relational, tensor, texture,
};

struct Table {
    rows: Vec<Row>,
    by_name: BTreeMap<String, usize>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let families = [
        math::rows(),
        integer::rows(),
        relational::rows(),
        convert::rows(),
        lanes::rows(),
        atomic::rows(),
        barrier::rows(),
        matrix::rows(),
        execution::rows(),
        tensor::rows(),
        texture::rows(),
    ];
    let mut rows: Vec<Row> = families.into_iter().flatten().collect();
    let mut by_name = BTreeMap::new();
    for (index, row) in rows.iter_mut().enumerate() {
        row.index = u32::try_from(index).expect("the table has a few thousand rows");
        let before = by_name.insert(row.name.clone(), index);
        assert_eq!(before, None, "{} has two rows", row.name);
    }
    Table { rows, by_name }
});

/// Every row, in order of family and index.
#[must_use]
pub fn rows() -> &'static [Row] {
    &TABLE.rows
}

/// The row with this [`index`](Row::index).
#[must_use]
pub fn row(index: u32) -> Option<&'static Row> {
    TABLE.rows.get(usize::try_from(index).ok()?)
}

/// A number that changes when the names or the order of rows do: part of the key of whatever stores a row's index.
#[must_use]
pub fn fingerprint() -> u64 {
    // FNV-1a, 64 bits.
    let bytes = TABLE.rows.iter().flat_map(|row| row.name.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The function that `name` (such as `air.fast_exp2.v2f32`) stands for.
#[must_use]
pub fn lookup(name: &str) -> Option<Resolved> {
    if let Some(index) = TABLE.by_name.get(name) {
        let row = &TABLE.rows[*index];
        return (row.lift != Lift::Horizontal).then_some(Resolved { row, lanes: 1 });
    }
    let (scalar, lanes) = scalar_name(name)?;
    let row = &TABLE.rows[*TABLE.by_name.get(&scalar)?];
    (row.lift != Lift::None).then_some(Resolved { row, lanes })
}

/// The name of the scalar form of a vector form, and its lanes: every type part of the name has the same `v2` to `v4`.
fn scalar_name(name: &str) -> Option<(String, u32)> {
    let mut found = None;
    let mut parts = Vec::new();
    for part in name.split('.') {
        let vector = ["v2", "v3", "v4"].into_iter().zip(2..).find_map(|(prefix, lanes)| {
            let rest = part.strip_prefix(prefix)?;
            crate::element::Element::ALL.into_iter().any(|element| element.name() == rest).then_some((rest, lanes))
        });
        match vector {
            Some((rest, lanes)) => {
                if found.is_some_and(|before| before != lanes) {
                    return None;
                }
                found = Some(lanes);
                parts.push(rest);
            }
            None => parts.push(part),
        }
    }
    Some((parts.join("."), found?))
}
