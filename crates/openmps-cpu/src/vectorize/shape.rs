//! How a value differs between the lanes of a SIMD-group: not at all, by constant steps, or in any way.
//!
//! Lanes lie in rows: of 32, where a SIMD-group is a part of one row of the threadgroup, or of 16, 8, 4, 2.
//! The lattice goes down only: uniform and affine values may become varying, never back, so that the fixpoint ends.

/// Lanes of a SIMD-group.
const WIDTH: u32 = 32;
/// Fewest lanes of rows whose numbers are computed one for each row instead of one for each lane.
const OWN_ROW_LANES_MIN: u32 = 8;

/// How a value differs between lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// The same on all active lanes.
    Uniform,
    /// Lane `l` of row `r` has the value of lane 0 plus `l` times a step and `r` times another, modulo the width of the type.
    Affine(Affine),
    /// Anything.
    Varying,
}

/// A value with constant steps. What is said of lane 0 holds for the number that lane 0 would have, whether it is active or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Affine {
    /// Difference between neighbouring lanes of a row; bytes for pointers.
    pub(super) stride: i64,
    /// Difference between the first lanes of neighbouring rows; none where each row starts with a number of its own, and what is said
    /// of lane 0 holds for each row's first lane. Not 0 where the other is. Where rows have 32 lanes it is 32 times the other.
    pub(super) rows: Option<i64>,
    /// As unsigned numbers lane 0 and the active lanes are this apart without wrapping, and none is larger than this.
    pub(super) unsigned_max: Option<u64>,
    /// As signed numbers they are this apart without wrapping.
    pub(super) signed: bool,
    /// Lane 0 is a multiple of 32, and each lane's value is the one before it plus 1, in the next row too.
    pub(super) aligned: bool,
    /// The value comes from an extension that may wrap between lanes: whether the step holds is found at run time.
    pub(super) checked: bool,
}

impl Affine {
    /// Steps of which nothing else is known.
    pub(super) fn plain(stride: i64, rows: Option<i64>) -> Self {
        Self { stride, rows, unsigned_max: None, signed: false, aligned: false, checked: false }
    }

    /// The step from each lane to the next, where rows of so many lanes do not matter.
    pub(super) fn lane_stride(self, row_lanes: u32) -> Option<i64> {
        (self.rows == Some(self.stride.wrapping_mul(i64::from(row_lanes)))).then_some(self.stride)
    }

    /// What lane `lane` has more than lane 0, or than the first one of its row where rows start with numbers of their own.
    pub(super) fn offset(self, lane: u32, row_lanes: u32) -> i64 {
        let in_row = self.stride.wrapping_mul(i64::from(lane % row_lanes));
        in_row.wrapping_add(self.rows.unwrap_or(0).wrapping_mul(i64::from(lane / row_lanes)))
    }

    /// The least and the most of [`offset`](Self::offset), or the nearest numbers to them.
    pub(super) fn offsets(self, row_lanes: u32) -> (i64, i64) {
        let in_row = self.stride.saturating_mul(i64::from(row_lanes - 1));
        let last_row = self.rows.unwrap_or(0).saturating_mul(i64::from(WIDTH / row_lanes - 1));
        (in_row.min(0).saturating_add(last_row.min(0)), in_row.max(0).saturating_add(last_row.max(0)))
    }

    /// Whether rows start with numbers of their own.
    pub(super) fn is_by_rows(self) -> bool {
        self.rows.is_none()
    }

    /// Whether no lane is below lane 0.
    pub(super) fn counts_up(self) -> bool {
        self.stride >= 0 && self.rows.is_none_or(|rows| rows >= 0)
    }
}

impl Shape {
    /// A position that counts lanes, which lie in rows of so many, at most `max`.
    pub(super) fn position(max: u64, aligned: bool, row_lanes: u32) -> Self {
        let rows = Some(i64::from(row_lanes));
        Self::Affine(Affine { stride: 1, rows, unsigned_max: Some(max), signed: true, aligned, checked: false })
    }

    /// The place in a row.
    pub(super) fn column(row_lanes: u32) -> Self {
        let unsigned_max = Some(u64::from(row_lanes - 1));
        Self::Affine(Affine { unsigned_max, signed: true, ..Affine::plain(1, Some(0)) })
    }

    /// The number of the row, at most `max`.
    pub(super) fn row(max: u64) -> Self {
        Self::Affine(Affine { unsigned_max: Some(max), signed: true, ..Affine::plain(0, Some(1)) })
    }

    /// Steps of which nothing else is known; uniform when they are 0.
    pub(super) fn steps(stride: i64, rows: Option<i64>) -> Self {
        if (stride, rows) == (0, Some(0)) { Self::Uniform } else { Self::Affine(Affine::plain(stride, rows)) }
    }

    /// The same step from each lane to the next, of lanes in rows of so many.
    pub(super) fn step(stride: i64, row_lanes: u32) -> Self {
        Self::steps(stride, Some(stride.wrapping_mul(i64::from(row_lanes))))
    }

    /// What both are.
    pub(super) fn meet(self, other: Self) -> Self {
        match (self, other) {
            (Self::Uniform, Self::Uniform) => Self::Uniform,
            (Self::Affine(a), Self::Affine(b)) if a.stride == b.stride => Self::Affine(Affine {
                stride: a.stride,
                rows: a.rows.filter(|_| a.rows == b.rows),
                unsigned_max: a.unsigned_max.filter(|_| a.unsigned_max == b.unsigned_max),
                signed: a.signed && b.signed,
                aligned: a.aligned && b.aligned,
                checked: a.checked || b.checked,
            }),
            (Self::Uniform, Self::Affine(a)) | (Self::Affine(a), Self::Uniform) if a.stride == 0 => {
                Self::Affine(Affine { rows: None, unsigned_max: None, aligned: false, ..a })
            }
            (Self::Uniform | Self::Affine(_) | Self::Varying, _) => Self::Varying,
        }
    }

    /// The same, or varying where rows of so many lanes are too short for numbers of their own.
    pub(super) fn for_rows_of(self, row_lanes: u32) -> Self {
        let is_short = row_lanes < OWN_ROW_LANES_MIN;
        if is_short && matches!(self, Self::Affine(affine) if affine.is_by_rows()) { Self::Varying } else { self }
    }

    /// Whether all lanes of a row have the same.
    pub(super) fn is_shared_by_rows(self) -> bool {
        self.strides().is_some_and(|(stride, _)| stride == 0)
    }

    pub(super) fn is_uniform(self) -> bool {
        self == Self::Uniform
    }

    /// Whether lane 0 does not tell the others.
    pub(super) fn is_varying(self) -> bool {
        matches!(self, Self::Varying | Self::Affine(Affine { rows: None, .. }))
    }

    /// The steps of a value whose rows start with numbers of their own.
    pub(super) fn by_rows(self) -> Option<Affine> {
        match self {
            Self::Affine(affine) if affine.is_by_rows() => Some(affine),
            Self::Uniform | Self::Affine(_) | Self::Varying => None,
        }
    }

    /// The steps between lanes and rows: 0 for uniform values, none for varying ones.
    pub(super) fn strides(self) -> Option<(i64, Option<i64>)> {
        match self {
            Self::Uniform => Some((0, Some(0))),
            Self::Affine(affine) => Some((affine.stride, affine.rows)),
            Self::Varying => None,
        }
    }

    /// The step from each lane to the next, where there is one.
    pub(super) fn lane_stride(self, row_lanes: u32) -> Option<i64> {
        match self {
            Self::Uniform => Some(0),
            Self::Affine(affine) => affine.lane_stride(row_lanes),
            Self::Varying => None,
        }
    }

    pub(super) fn is_checked(self) -> bool {
        matches!(self, Self::Affine(affine) if affine.checked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meeting_goes_down_only() {
        let shapes = [
            Shape::Uniform,
            Shape::position(31, true, 32),
            Shape::position(1023, false, 32),
            Shape::column(16),
            Shape::row(63),
            Shape::steps(1, None),
            Shape::steps(0, None),
            Shape::step(4, 32),
            Shape::step(-4, 32),
            Shape::Varying,
        ];
        for a in shapes {
            assert_eq!(a.meet(a), a);
            assert_eq!(a.meet(Shape::Varying), Shape::Varying);
            for b in shapes {
                let met = a.meet(b);
                assert_eq!(met, b.meet(a));
                assert_eq!(met.meet(a), met, "{a:?} and {b:?}");
            }
        }
    }

    #[test]
    fn different_bounds_leave_no_bound() {
        let Shape::Affine(met) = Shape::position(31, true, 16).meet(Shape::position(1023, true, 16)) else {
            unreachable!()
        };
        assert_eq!((met.unsigned_max, met.signed, met.aligned), (None, true, true));
    }

    #[test]
    fn rows_count_apart_from_lanes() {
        let of = |shape: Shape| {
            let Shape::Affine(affine) = shape else { panic!("{shape:?}") };
            affine
        };
        let (column, row, place) = (of(Shape::column(8)), of(Shape::row(63)), of(Shape::position(1023, true, 8)));
        assert_eq!([0, 7, 8, 31].map(|lane| column.offset(lane, 8)), [0, 7, 0, 7]);
        assert_eq!([0, 7, 8, 31].map(|lane| row.offset(lane, 8)), [0, 0, 1, 3]);
        assert_eq!((0..32).map(|lane| place.offset(lane, 8)).collect::<Vec<_>>(), (0..32).collect::<Vec<_>>());
        assert_eq!([column, row, place].map(|it| it.lane_stride(8)), [None, None, Some(1)]);
        assert_eq!(Affine::plain(-4, Some(100)).offsets(8), (-28, 300));
        assert_eq!(Affine::plain(4, None).offsets(8), (0, 28));
        assert_eq!(Shape::column(8).meet(Shape::Uniform), Shape::Varying);
        assert!(Shape::row(63).meet(Shape::Uniform).by_rows().is_some());
        assert!(column.counts_up() && row.counts_up() && !Affine::plain(-4, Some(100)).counts_up());
    }
}
