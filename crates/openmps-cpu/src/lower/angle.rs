//! Reduction of an angle in radians to a number of quarter turns and a rest, for every float.
//!
//! Up to 2³⁰ in double with π/2 in two parts, which leaves the rest 53 bits after any cancellation. Beyond, the angle is a whole
//! number of 24 bits times a power of two, and multiples of four quarter turns fall away: it is multiplied with the bits of 2/π that
//! are left of that power, in three parts whose products are exact (Mary Payne and Robert Hanek, "Radian reduction for
//! trigonometric functions", 1983). That way is behind a branch, which SIMD-groups without a huge angle skip.

use std::fmt::Write as _;

use openmps_engine::coefficients::{WIDE_HALF_PI, WIDE_WHOLE};

use super::text::{Body, Ty, Value};

/// From here on angles are huge.
const HUGE: f32 = 1_073_741_824.0;
/// The exponent field of [`HUGE`].
const HUGE_FIELD: u32 = 157;
/// The exponent field of infinity and NaN.
const SPECIAL_FIELD: u32 = 255;
/// The bits of 2/π behind the point, 32 at a time.
const TWO_OVER_PI: [u32; 8] =
    [0xa2f9_836e, 0x4e44_1529, 0xfc27_57d1, 0xf534_ddc0, 0xdb62_9599, 0x3c43_9041, 0xfe51_63ab, 0xdebb_c561];
/// Bits of the parts: those of the first two times 24 are those of a double.
const PART_BITS: [u32; 3] = [29, 29, 53];
/// The name of the table of factors.
pub(super) const TABLE: &str = "@openmps_quarter_turns";

/// The table of factors, as a global of LLVM IR.
pub(super) fn table_text() -> String {
    let mut rows = Vec::new();
    for field in HUGE_FIELD..=SPECIAL_FIELD {
        let parts = if field == SPECIAL_FIELD { [f64::NAN; 3] } else { factors(field) };
        let words = parts.map(|part| format!("double 0x{:016X}", part.to_bits()));
        rows.push(format!("[3 x double] [{}]", words.join(", ")));
    }
    let mut text = String::new();
    let count = rows.len();
    let _ = writeln!(text, "{TABLE} = internal constant [{count} x [3 x double]] [{}]", rows.join(", "));
    text
}

/// 2/π · 2^e modulo 4 in three parts, for floats with this exponent field: whole numbers times 2^e.
fn factors(field: u32) -> [f64; 3] {
    // The first bit that counts has the weight 2.
    let mut place = field - 150 - 2;
    let mut weight = 2.0_f64;
    PART_BITS.map(|count| {
        let mut part = 0.0;
        for _ in 0..count {
            let word = TWO_OVER_PI[(place / 32) as usize];
            part += f64::from(word >> (31 - place % 32) & 1) * weight;
            weight *= 0.5;
            place += 1;
        }
        part
    })
}

/// The number of quarter turns in `x` modulo a power of two, as i32, and the rest of at most half of one in radians, as double.
pub(super) fn reduce(body: &mut Body, x: &Value) -> (Value, Value) {
    let double = x.ty.with("double");
    let wide = body.cast("fpext", x, &double);
    let turns = body.binary("fmul", &wide, &Value::double(&double, std::f64::consts::FRAC_2_PI));
    let turns = body.intrinsic("llvm.rint", &[&turns]);
    let negated = body.value(&double, format_args!("fneg {turns}"));
    let [high, low] = WIDE_HALF_PI.map(|part| Value::double(&double, part));
    let rest = body.intrinsic("llvm.fma", &[&negated, &high, &wide]);
    let rest = body.intrinsic("llvm.fma", &[&negated, &low, &rest]);
    let magnitude = body.intrinsic("llvm.fabs", &[x]);
    let is_huge = body.compare("fcmp uge", &magnitude, &Value::float(&x.ty, HUGE));
    let [turns, rest] = body.unless_none(&is_huge, [turns, rest], |body| {
        let (turns, rest) = reduce_huge(body, x, &magnitude);
        [turns, rest]
    });
    let shifted = body.binary("fadd", &turns, &Value::double(&double, WIDE_WHOLE));
    let bits = body.cast("bitcast", &shifted, &x.ty.with("i64"));
    (body.cast("trunc", &bits, &x.ty.with("i32")), rest)
}

/// Quarter turns and rest of an angle from [`HUGE`] up, as doubles; NaN for infinity and NaN.
fn reduce_huge(body: &mut Body, x: &Value, magnitude: &Value) -> (Value, Value) {
    let (int, double) = (x.ty.as_int(), x.ty.with("double"));
    let bits = body.cast("bitcast", magnitude, &int);
    let field = body.binary("lshr", &bits, &Value::int(&int, 23));
    let row = body.binary("sub", &field, &Value::int(&int, i64::from(HUGE_FIELD)));
    // Of threads whose angle is not huge, which compute this beside others.
    let row = body.value(&int, format_args!("call {int} @llvm.smax.{}({row}, {})", int.suffix(), Value::int(&int, 0)));
    let fraction = body.binary("and", &bits, &Value::int(&int, 0x007f_ffff));
    let whole = body.binary("or", &fraction, &Value::int(&int, 0x0080_0000));
    let whole = body.cast("sitofp", &whole, &double);
    let products = [0, 1, 2].map(|part| {
        let factor = body.per_lane(&double, |body, lane| {
            let row = body.extract(&row, lane);
            let place = format!("ptr {TABLE}, {row}, i32 {part}");
            let address = body.value(&Ty::scalar("ptr"), format_args!("getelementptr [3 x double], {place}"));
            body.value(&Ty::scalar("double"), format_args!("load double, {address}"))
        });
        body.binary("fmul", &whole, &factor)
    });
    let [first, second, third] = &products;
    let sum = body.binary("fadd", first, second);
    let turns = body.intrinsic("llvm.rint", &[&sum]);
    let rest = body.binary("fsub", first, &turns);
    let rest = body.binary("fadd", &rest, second);
    let rest = body.binary("fadd", &rest, third);
    let rest = body.binary("fmul", &rest, &Value::double(&double, WIDE_HALF_PI[0]));
    let is_negative = body.compare("fcmp olt", x, &Value::float(&x.ty, 0.0));
    let mut mirrored = |value: &Value| {
        let negated = body.value(&double, format_args!("fneg {value}"));
        body.select(&is_negative, &negated, value)
    };
    (mirrored(&turns), mirrored(&rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_two_over_pi_without_what_is_left_of_the_point() {
        // 2/π · 2⁷ = 81.487…, modulo 4 = 1.487….
        let [first, second, third] = factors(HUGE_FIELD);
        let expected = std::f64::consts::FRAC_2_PI * 128.0 - 80.0;
        assert!((first + second + third - expected).abs() < 1e-13, "{first} {second} {third}");
        // The parts of one row continue those of the row before, one bit on.
        for field in HUGE_FIELD..SPECIAL_FIELD - 1 {
            let whole = |parts: [f64; 3]| parts[0] + parts[1];
            let doubled = 2.0 * whole(factors(field)) % 4.0;
            assert!((whole(factors(field + 1)) - doubled).abs() < 1e-14, "{field}");
        }
    }
}
