//! Numbers in messages, spelled as PyTorch's C++ spells them.

/// A size: bytes up to 1024, then two decimals of KiB, MiB or GiB; a power itself belongs to the smaller unit.
pub fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 2] = [(1 << 10, "KiB"), (1 << 20, "MiB")];
    if bytes <= 1024 {
        return format!("{bytes} bytes");
    }
    let (unit_bytes, unit) = UNITS.into_iter().find(|unit| bytes <= unit.0 << 10).unwrap_or((1 << 30, "GiB"));
    #[expect(clippy::cast_precision_loss, reason = "C++ divides as double too, and two decimals are printed")]
    let count = bytes as f64 / unit_bytes as f64;
    format!("{count:.2} {unit}")
}

/// A double as C++'s `ostream` prints it: six significant digits, `%g`.
pub(super) fn double(value: f64) -> String {
    if value.is_nan() {
        return if value.is_sign_negative() { "-nan".into() } else { "nan".into() };
    }
    if value.is_infinite() {
        return if value < 0.0 { "-inf".into() } else { "inf".into() };
    }
    let scientific = format!("{value:.5e}");
    let (mantissa, exponent) = scientific.split_once('e').expect("the exponent form has an e");
    let exponent: i32 = exponent.parse().expect("the exponent is an integer");
    let trim = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if (-4..6).contains(&exponent) {
        let decimals = usize::try_from(5 - exponent).expect("the exponent is below 6");
        return trim(&format!("{value:.decimals$}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trim(mantissa), exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_change_unit_after_the_power() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1, "1 bytes"),
            (1024, "1024 bytes"),
            (1025, "1.00 KiB"),
            (1536, "1.50 KiB"),
            (1 << 20, "1024.00 KiB"),
            ((1 << 20) + 1, "1.00 MiB"),
            (1 << 30, "1024.00 MiB"),
            ((1 << 30) + 1, "1.00 GiB"),
            (18 << 30, "18.00 GiB"),
            (1 << 50, "1048576.00 GiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn doubles_print_like_ostream() {
        for (value, text) in [
            (1.4, "1.4"),
            (3.0, "3"),
            (-1.0, "-1"),
            (0.0, "0"),
            (2.000_001, "2"),
            (2.00001, "2.00001"),
            (123_456.7, "123457"),
            (1e6, "1e+06"),
            (-2.5e30, "-2.5e+30"),
            (1e-4, "0.0001"),
            (1.25e-5, "1.25e-05"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(double(value), text);
        }
    }
}
