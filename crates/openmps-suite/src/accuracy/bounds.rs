//! What the Metal Shading Language specification (version 4.1, section 8.4) demands of each function.
//!
//! Tables 8.1 (float), 8.2 (float with fast math) and 8.3 (half) as data. Where table 8.2 gives a formula instead of a bound,
//! or none, the bound is one of this project: it says so, and is tighter than what the formula can give.

/// How far a result may be from the exact value.
#[derive(Clone, Copy, Debug)]
pub enum Bound {
    /// 0 ulp: the function has an exact result.
    Exact,
    /// Nearest to the exact value.
    CorrectlyRounded,
    /// At most so many ulps.
    Ulps(f64),
    /// At most as many ulps as the function of the operands says.
    UlpsAt(fn(&[f64]) -> f64, &'static str),
    /// At most this distance where the first operand has at most this magnitude; anything elsewhere.
    Within {
        /// Largest magnitude of the first operand.
        domain: f64,
        /// Largest error.
        distance: f64,
        /// In the specification's words.
        text: &'static str,
    },
    /// At most this distance from [0.5, 2]; elsewhere so many ulps.
    Logarithm {
        /// Largest error from 0.5 to 2.
        distance: f64,
        /// Elsewhere.
        ulps: f64,
        /// In the specification's words.
        text: &'static str,
    },
    /// The specification gives a formula; this project holds itself to so many ulps.
    Ours {
        /// The specification's formula.
        formula: &'static str,
        /// This project's bound.
        ulps: fn(&[f64]) -> f64,
        /// The same in words.
        text: &'static str,
    },
}

impl Bound {
    /// As the book prints it.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Exact => "0 ulp".to_owned(),
            Self::CorrectlyRounded => "correctly rounded".to_owned(),
            Self::Ulps(ulps) => format!("{ulps} ulp"),
            Self::UlpsAt(_, text) | Self::Within { text, .. } | Self::Logarithm { text, .. } => (*text).to_owned(),
            Self::Ours { formula, text, .. } => format!("`{formula}`; ours: {text}"),
        }
    }
}

/// One result against its bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Error {
    /// In ulps of the exact value.
    pub ulps: f64,
    /// As a distance.
    pub distance: f64,
}

impl Error {
    /// This error and what a reference in f64 can be off.
    #[must_use]
    pub fn increased(self) -> Self {
        Self { ulps: self.ulps + 1e-6, distance: self.distance * (1.0 + 1e-6) }
    }
}

impl Bound {
    /// Whether a result with this error, at these operands, is within the bound.
    #[must_use]
    pub fn admits(&self, operands: &[f64], error: Error) -> bool {
        if error.ulps == 0.0 {
            return true;
        }
        match self {
            Self::Exact => false,
            // Ties to either side are half an ulp; the pair of doubles of the exact value is good to 2^-100.
            Self::CorrectlyRounded => error.ulps <= 0.5,
            Self::Ulps(ulps) => error.ulps <= *ulps,
            Self::UlpsAt(ulps, _) => error.ulps <= ulps(operands),
            Self::Within { domain, distance, .. } => operands[0].abs() > *domain || error.distance <= *distance,
            Self::Logarithm { distance, ulps, .. } => {
                // The results for zero and below are undefined.
                let x = operands[0];
                x <= 0.0 || if (0.5..=2.0).contains(&x) { error.distance <= *distance } else { error.ulps <= *ulps }
            }
            Self::Ours { ulps, .. } => error.ulps <= ulps(operands),
        }
    }
}

impl Bound {
    /// The number that stands for a result's error in the table: ulps, or a distance where the bound is one. `None` where
    /// the bound says nothing about these operands.
    #[must_use]
    pub fn size(&self, operands: &[f64], error: Error) -> Option<f64> {
        match self {
            Self::Exact | Self::CorrectlyRounded | Self::Ulps(_) => Some(error.ulps),
            Self::UlpsAt(ulps, _) | Self::Ours { ulps, .. } => ulps(operands).is_finite().then_some(error.ulps),
            Self::Within { domain, .. } => (operands[0].abs() <= *domain).then_some(error.distance),
            Self::Logarithm { .. } => (operands[0] > 0.0).then_some(error.ulps),
        }
    }
}
