//! The two limits on memory: the hard one that makes allocations fail and the soft one that makes the allocator tidy up.

use crate::limits::{MAX_WATERMARK_RATIO, MIB};

use super::MemoryError;

/// Both limits, in bytes; none is unlimited.
#[derive(Clone, Debug)]
pub(super) struct Watermarks {
    pub(super) recommended_bytes: u64,
    high_ratio: f64,
    pub(super) high_bytes: Option<u64>,
    pub(super) low_bytes: Option<u64>,
}

impl Watermarks {
    /// Applies the high ratio, then checks the low one against it.
    pub(super) fn new(recommended_bytes: u64, high_ratio: f64, low_ratio: f64) -> Result<Self, MemoryError> {
        let mut marks = Watermarks { recommended_bytes, high_ratio: 0.0, high_bytes: None, low_bytes: None };
        marks.set_high_ratio(high_ratio)?;
        marks.set_low_ratio(low_ratio)?;
        Ok(marks)
    }

    /// Sets the hard limit; the soft one stays as it is, even above.
    pub(super) fn set_high_ratio(&mut self, ratio: f64) -> Result<(), MemoryError> {
        if !(0.0..=MAX_WATERMARK_RATIO).contains(&ratio) {
            return Err(MemoryError::HighWatermarkRatio(ratio));
        }
        self.high_ratio = ratio;
        self.high_bytes = share(self.recommended_bytes, ratio);
        Ok(())
    }

    /// Sets the soft limit, at most the hard one.
    pub(super) fn set_low_ratio(&mut self, ratio: f64) -> Result<(), MemoryError> {
        let upper = if self.high_ratio == 0.0 { MAX_WATERMARK_RATIO } else { self.high_ratio };
        if !(0.0..=upper).contains(&ratio) {
            return Err(MemoryError::LowWatermarkRatio(ratio));
        }
        self.low_bytes = share(self.recommended_bytes, ratio);
        Ok(())
    }

    /// Whether `more` bytes on top of `driver` pass the hard limit.
    pub(super) fn is_over_high(&self, driver_bytes: u64, more_bytes: u64) -> bool {
        self.high_bytes.is_some_and(|limit| driver_bytes.saturating_add(more_bytes) > limit)
    }

    /// MiB left below the soft limit, at least 0; the maximum if there is none.
    pub(super) fn low_value(&self, driver_bytes: u64) -> i64 {
        match self.low_bytes {
            None => i64::MAX,
            Some(limit) => i64::try_from(limit.saturating_sub(driver_bytes) / MIB).unwrap_or(i64::MAX),
        }
    }
}

/// `ratio × bytes`, truncated; a zero ratio means no limit.
fn share(bytes: u64, ratio: f64) -> Option<u64> {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "PyTorch computes the limit in double and truncates; the ratio was checked to be 0 to 2"
    )]
    let limit = (ratio * bytes as f64) as u64;
    (ratio != 0.0).then_some(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(high: f64, low: f64) -> String {
        Watermarks::new(1000, high, low).expect_err("must be refused").to_string()
    }

    #[test]
    fn ratios_outside_their_range_are_refused() {
        assert_eq!(refusal(2.5, 1.4), "invalid high watermark ratio 2.5");
        assert_eq!(refusal(-0.1, 0.0), "invalid high watermark ratio -0.1");
        assert_eq!(refusal(f64::NAN, 0.0), "invalid high watermark ratio nan");
        assert_eq!(refusal(1.0, 1.4), "invalid low watermark ratio 1.4");
        assert_eq!(refusal(0.0, 2.1), "invalid low watermark ratio 2.1");
        assert_eq!(refusal(1.7, f64::NAN), "invalid low watermark ratio nan");
    }

    #[test]
    fn limits_are_truncated_shares() {
        let marks = Watermarks::new(1001, 1.7, 1.4).expect("the defaults are valid");
        assert_eq!((marks.high_bytes, marks.low_bytes), (Some(1701), Some(1401)));
        assert!(!marks.is_over_high(1700, 1));
        assert!(marks.is_over_high(1700, 2));
        let open = Watermarks::new(1001, 0.0, 2.0).expect("unlimited is valid");
        assert_eq!((open.high_bytes, open.low_bytes), (None, Some(2002)));
        assert!(!open.is_over_high(u64::MAX, u64::MAX));
    }

    #[test]
    fn the_low_value_counts_whole_mebibytes_down_to_zero() {
        let marks = Watermarks::new(10 * MIB, 1.0, 1.0).expect("valid");
        assert_eq!(marks.low_value(0), 10);
        assert_eq!(marks.low_value(9 * MIB + 1), 0);
        assert_eq!(marks.low_value(20 * MIB), 0);
        assert_eq!(Watermarks::new(MIB, 1.0, 0.0).expect("valid").low_value(u64::MAX), i64::MAX);
    }

    #[test]
    fn raising_or_lowering_the_high_ratio_leaves_the_low_limit() {
        let mut marks = Watermarks::new(1000, 1.7, 1.4).expect("valid");
        marks.set_high_ratio(0.5).expect("valid");
        assert_eq!((marks.high_bytes, marks.low_bytes), (Some(500), Some(1400)));
        assert!(marks.set_high_ratio(2.5).is_err());
        assert_eq!(marks.high_bytes, Some(500));
    }
}
