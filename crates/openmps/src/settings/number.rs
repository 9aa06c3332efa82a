//! Numbers as C reads them: `strtol`, `strtod` and `std::stoi`, on which the PyTorch variables are specified.
//!
//! Guarantees: the longest valid prefix counts, garbage is zero, nothing depends on the locale.
//! Left out: `errno`; where C reports a range error these return the value that C returns beside it.

/// `strtol(text, nullptr, base)` for base 0 (prefix decides), 8, 10 or 16; saturates at the limits of `long`.
///
/// Returns the value and the number of bytes used, 0 if there is no number.
fn long_prefix(text: &[u8], base: u32) -> (i64, usize) {
    let start = text.iter().take_while(|b| is_space(**b)).count();
    let (negative, mut at) = match text.get(start) {
        Some(b'-') => (true, start + 1),
        Some(b'+') => (false, start + 1),
        _ => (false, start),
    };
    let digit = |at: usize, base: u32| text.get(at).and_then(|b| char::from(*b).to_digit(base));
    let is_hex =
        text.get(at) == Some(&b'0') && matches!(text.get(at + 1), Some(b'x' | b'X')) && digit(at + 2, 16).is_some();
    let base = match base {
        0 | 16 if is_hex => {
            at += 2;
            16
        }
        0 if text.get(at) == Some(&b'0') => 8,
        0 => 10,
        base => base,
    };
    let first = at;
    let mut value: i128 = 0;
    while let Some(digit) = digit(at, base) {
        // Past the limits the value only has to stay past them.
        value = (value * i128::from(base) + i128::from(digit)).min(i128::from(u64::MAX));
        at += 1;
    }
    if at == first {
        return (0, 0);
    }
    let signed = if negative { -value } else { value };
    let clamped = signed.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
    (i64::try_from(clamped).expect("clamped to the range of i64"), at)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\x0b' | b'\x0c' | b'\r')
}

/// `strtol(text, nullptr, 0)`: `0x` and leading-zero prefixes, garbage is 0.
pub(crate) fn strtol(text: &[u8]) -> i64 {
    long_prefix(text, 0).0
}

/// A bit mask variable: `strtol` base 0, kept in 32 bits as C++'s `uint32_t` does.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the truncation is C++'s conversion from long to uint32_t and is the specified behaviour"
)]
pub(crate) fn mask(text: &[u8]) -> u32 {
    strtol(text) as u32
}

/// `std::stoi(text)`: `None` where C++ throws (no number, or outside `int`).
pub(crate) fn stoi(text: &[u8]) -> Option<i32> {
    match long_prefix(text, 10) {
        (_, 0) => None,
        (value, _) => i32::try_from(value).ok(),
    }
}

/// `strtod(text, nullptr)`: decimal and hexadecimal forms, `inf`, `nan`; garbage is 0.
pub(crate) fn strtod(text: &[u8]) -> f64 {
    let start = text.iter().take_while(|b| is_space(**b)).count();
    let (negative, body) = match text.get(start) {
        Some(b'-') => (true, &text[start + 1..]),
        Some(b'+') => (false, &text[start + 1..]),
        _ => (false, &text[start..]),
    };
    let starts_with = |word: &[u8]| body.len() >= word.len() && body[..word.len()].eq_ignore_ascii_case(word);
    let magnitude = if starts_with(b"inf") {
        f64::INFINITY
    } else if starts_with(b"nan") {
        f64::NAN
    } else if starts_with(b"0x") {
        hexadecimal(&body[2..])
    } else {
        decimal(body)
    };
    if negative { -magnitude } else { magnitude }
}

/// Digits with at most one point, and the end of an exponent that starts with one of `marks`, if it has digits.
fn mantissa_and_exponent(body: &[u8], is_digit: impl Fn(u8) -> bool, marks: &[u8]) -> (usize, usize, bool) {
    let mut end = 0;
    let mut point = false;
    let mut digits = false;
    while let Some(byte) = body.get(end) {
        match byte {
            b'.' if !point => point = true,
            byte if is_digit(*byte) => digits = true,
            _ => break,
        }
        end += 1;
    }
    let mut exponent_end = end;
    if digits && body.get(end).is_some_and(|b| marks.contains(b)) {
        let sign = usize::from(matches!(body.get(end + 1), Some(b'+' | b'-')));
        let count = body[(end + 1 + sign).min(body.len())..].iter().take_while(|b| b.is_ascii_digit()).count();
        if count > 0 {
            exponent_end = end + 1 + sign + count;
        }
    }
    (end, exponent_end, digits)
}

fn decimal(body: &[u8]) -> f64 {
    let (_, end, digits) = mantissa_and_exponent(body, |b| b.is_ascii_digit(), b"eE");
    if !digits {
        return 0.0;
    }
    str::from_utf8(&body[..end]).ok().and_then(|text| text.parse().ok()).unwrap_or(0.0)
}

fn hexadecimal(body: &[u8]) -> f64 {
    let (end, exponent_end, digits) = mantissa_and_exponent(body, |b| b.is_ascii_hexdigit(), b"pP");
    if !digits {
        return 0.0; // "0x" alone is the number 0 followed by an x
    }
    let mut value = 0.0f64;
    let mut exponent = 0i32;
    let mut after_point = false;
    for byte in &body[..end] {
        if *byte == b'.' {
            after_point = true;
            continue;
        }
        let digit = char::from(*byte).to_digit(16).expect("only hexadecimal digits and one point were accepted");
        value = value * 16.0 + f64::from(digit);
        exponent = exponent.saturating_sub(if after_point { 4 } else { 0 });
    }
    if exponent_end > end {
        let written = long_prefix(&body[end + 1..exponent_end], 10).0.clamp(-1_000_000, 1_000_000);
        exponent = exponent.saturating_add(i32::try_from(written).expect("clamped to the range of i32"));
    }
    value * 2.0f64.powi(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strtol_reads_like_c() {
        for (text, value) in [
            ("", 0),
            ("12", 12),
            ("  \t-12xyz", -12),
            ("0x1F", 31),
            ("0X1f", 31),
            ("0x", 0),
            ("0xg", 0),
            ("017", 15),
            ("08", 0),
            ("+3", 3),
            ("garbage", 0),
            ("- 3", 0),
            ("99999999999999999999", i64::MAX),
            ("-99999999999999999999", i64::MIN),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
        ] {
            assert_eq!(strtol(text.as_bytes()), value, "strtol of {text:?}");
        }
        assert_eq!(mask(b"-1"), u32::MAX);
        assert_eq!(mask(b"0x100000003"), 3);
    }

    #[test]
    fn stoi_refuses_what_cpp_refuses() {
        assert_eq!(stoi(b"1"), Some(1));
        assert_eq!(stoi(b" 7up"), Some(7));
        assert_eq!(stoi(b"0x10"), Some(0));
        assert_eq!(stoi(b""), None);
        assert_eq!(stoi(b"yes"), None);
        assert_eq!(stoi(b"2147483648"), None);
        assert_eq!(stoi(b"-2147483648"), Some(i32::MIN));
    }

    #[test]
    fn strtod_reads_like_c() {
        for (text, value) in [
            ("", 0.0),
            ("1.7", 1.7),
            ("  +1.5e1x", 15.0),
            ("-.5", -0.5),
            ("5.", 5.0),
            (".", 0.0),
            ("e5", 0.0),
            ("1e", 1.0),
            ("1e+", 1.0),
            ("garbage", 0.0),
            ("0x1p3", 8.0),
            ("0x1.8p1", 3.0),
            ("0x.8", 0.5),
            ("0x", 0.0),
            ("1e400", f64::INFINITY),
            ("INFINITY", f64::INFINITY),
            ("-inf", f64::NEG_INFINITY),
        ] {
            assert_eq!(strtod(text.as_bytes()).to_bits(), value.to_bits(), "strtod of {text:?}");
        }
        assert!(strtod(b"nan").is_nan());
        assert!(strtod(b"-NaN(1)").is_nan());
    }
}
