//! How a value differs between the lanes of a SIMD-group: not at all, by a constant step, or in any way.
//!
//! The lattice goes down only: uniform and affine values may become varying, never back, so that the fixpoint ends.

/// How a value differs between lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// The same on all active lanes.
    Uniform,
    /// Lane `l` has the value of lane 0 plus `l` times a step, modulo the width of the type.
    Affine(Affine),
    /// Anything.
    Varying,
}

/// A value with a constant step. What is said of lane 0 holds for the number that lane 0 would have, whether it is active or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Affine {
    /// Difference between neighbouring lanes; bytes for pointers. Not 0.
    pub(super) stride: i64,
    /// As unsigned numbers lane 0 and the active lanes are this apart without wrapping, and none is larger than this.
    pub(super) unsigned_max: Option<u64>,
    /// As signed numbers they are this apart without wrapping.
    pub(super) signed: bool,
    /// Lane 0 is a multiple of 32, and the stride is 1.
    pub(super) aligned: bool,
    /// The value comes from an extension that may wrap between lanes: whether the step holds is found at run time.
    pub(super) checked: bool,
}

impl Affine {
    /// A step of which nothing else is known.
    pub(super) fn plain(stride: i64) -> Self {
        Self { stride, unsigned_max: None, signed: false, aligned: false, checked: false }
    }
}

impl Shape {
    /// A position that counts lanes, at most `max`.
    pub(super) fn position(max: u64, aligned: bool) -> Self {
        Self::Affine(Affine { stride: 1, unsigned_max: Some(max), signed: true, aligned, checked: false })
    }

    /// A step of which nothing else is known; uniform when it is 0.
    pub(super) fn step(stride: i64) -> Self {
        if stride == 0 { Self::Uniform } else { Self::Affine(Affine::plain(stride)) }
    }

    /// What both are.
    pub(super) fn meet(self, other: Self) -> Self {
        match (self, other) {
            (Self::Uniform, Self::Uniform) => Self::Uniform,
            (Self::Affine(a), Self::Affine(b)) if a.stride == b.stride => Self::Affine(Affine {
                stride: a.stride,
                unsigned_max: a.unsigned_max.filter(|_| a.unsigned_max == b.unsigned_max),
                signed: a.signed && b.signed,
                aligned: a.aligned && b.aligned,
                checked: a.checked || b.checked,
            }),
            (Self::Uniform | Self::Affine(_) | Self::Varying, _) => Self::Varying,
        }
    }

    pub(super) fn is_uniform(self) -> bool {
        self == Self::Uniform
    }

    pub(super) fn is_varying(self) -> bool {
        self == Self::Varying
    }

    /// The step: 0 for uniform values, none for varying ones.
    pub(super) fn stride(self) -> Option<i64> {
        match self {
            Self::Uniform => Some(0),
            Self::Affine(affine) => Some(affine.stride),
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
            Shape::position(31, true),
            Shape::position(1023, false),
            Shape::step(4),
            Shape::step(-4),
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
        let Shape::Affine(met) = Shape::position(31, true).meet(Shape::position(1023, true)) else { unreachable!() };
        assert_eq!((met.unsigned_max, met.signed, met.aligned), (None, true, true));
    }
}
