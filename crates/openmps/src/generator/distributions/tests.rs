use std::collections::HashSet;

use half::{bf16, f16};

use super::element::Element;
use super::*;
use crate::generator::Philox;

const START: Philox = Philox { seed: 42, offset: 0 };

/// A start that differs from run to run, printed where a statistical test fails.
fn random_start() -> Philox {
    let generator = crate::generator::Generator::new_default_seeded();
    Philox { seed: generator.seed(), offset: 0 }
}

fn dtype_of<T: Element>() -> Dtype {
    Dtype::ALL.into_iter().find(|&dtype| T::is(dtype)).expect("every element type has a dtype")
}

/// `count` elements filled by `fill`.
fn drawn<T: Element>(count: usize, fill: impl FnOnce(&mut Output) -> Result<(), DistributionError>) -> Vec<T> {
    let mut memory = vec![T::from_i64(0); count];
    // SAFETY: the vector's elements, which nothing else uses meanwhile.
    let mut out = unsafe { Output::new(memory.as_mut_ptr().cast(), count, dtype_of::<T>()) };
    fill(&mut out).unwrap();
    memory
}

/// The elements of `values` as parameters.
fn input<T: Element>(values: &[T]) -> Input {
    // SAFETY: callers keep the values alive and unchanged while they use the input.
    unsafe { Input::new(values.as_ptr().cast(), values.len(), dtype_of::<T>()) }
}

/// Mean and variance.
fn moments(values: &[f32]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().map(|&value| f64::from(value)).sum::<f64>() / count;
    let variance = values.iter().map(|&value| (f64::from(value) - mean).powi(2)).sum::<f64>() / count;
    (mean, variance)
}

/// Checks mean and variance to six standard errors, given the variance of the distribution's squared deviation.
fn check_moments(values: &[f32], mean: f64, variance: f64, fourth: f64, what: &str) {
    let count = values.len() as f64;
    let (found_mean, found_variance) = moments(values);
    let mean_error = 6.0 * (variance / count).sqrt();
    // The variance is taken around the mean that was found; rounding to float adds a little.
    let variance_error =
        6.0 * ((fourth - variance * variance).max(0.0) / count).sqrt() + mean_error.powi(2) + 1e-6 * variance;
    assert!((found_mean - mean).abs() <= mean_error, "{what}: mean {found_mean}, expected {mean} ± {mean_error}");
    assert!(
        (found_variance - variance).abs() <= variance_error,
        "{what}: variance {found_variance}, expected {variance} ± {variance_error}"
    );
}

const MANY: usize = 200_000;

#[test]
#[expect(clippy::excessive_precision, reason = "nine digits name a float without doubt")]
fn uniforms_are_the_devices() {
    let expected = [0.207_096_815, 0.977_152_467, 0.494_125_277, 0.592_428_446, 0.872_884_631, 0.561_730_981_f32];
    assert_eq!(drawn::<f32>(6, |out| uniform(out, START, 0.0, 1.0)), expected);
    let scaled: Vec<f32> = expected.iter().map(|unit| 5.0_f32.mul_add(*unit, -2.0)).collect();
    assert_eq!(drawn::<f32>(6, |out| uniform(out, START, -2.0, 3.0)), scaled);
    let halves: Vec<f16> = expected.iter().map(|&unit| f16::from_f32(unit)).collect();
    assert_eq!(drawn::<f16>(6, |out| uniform(out, START, 0.0, 1.0)), halves);
    let bfloats: Vec<bf16> = expected.iter().map(|&unit| bf16::from_f32(unit)).collect();
    assert_eq!(drawn::<bf16>(6, |out| uniform(out, START, 0.0, 1.0)), bfloats);
}

#[test]
fn normals_are_the_devices() {
    let values = drawn::<f32>(4, |out| normal(out, START, 0.0, 1.0));
    // The table gives seven digits.
    for (value, expected) in values.iter().zip([1.756_327, -0.253_875_9, -0.992_735_4, -0.651_466_5_f32]) {
        assert!((value - expected).abs() <= 3e-7 * expected.abs().max(0.5), "{value} for {expected}");
    }
    let shifted = drawn::<f32>(4, |out| normal(out, START, 3.0, 2.0));
    let expected: Vec<f32> = values.iter().map(|z| 3.0 + 2.0 * z).collect();
    assert_eq!(shifted, expected);
    let logs = drawn::<f32>(4, |out| log_normal(out, START, 3.0, 2.0));
    let expected: Vec<f32> = shifted.iter().map(|value| functions::exp(*value)).collect();
    assert_eq!(logs, expected);
}

#[test]
fn integers_are_the_devices() {
    assert_eq!(drawn::<i32>(4, |out| random_int(out, START, 0, 10)), [7, 8, 9, 2]);
    assert_eq!(drawn::<i64>(2, |out| random_int(out, START, 0, 10)), [0, 6]);
    assert_eq!(drawn::<i32>(4, |out| random_int(out, START, -100, 10)), [-93, -92, -91, -98]);
    assert_eq!(drawn::<f32>(4, |out| random_int(out, START, 0, 10)), [7.0, 8.0, 9.0, 2.0]);
    let raw = [0x9a82_2623_u32, 0xfd13_55ba, 0x3f3f_7f79, 0x4bd4_b252].map(u32::cast_signed);
    assert_eq!(drawn::<i32>(4, |out| random_int(out, START, 0, 0)), raw);
    assert_eq!(drawn::<i32>(4, |out| random_int(out, START, 0, 1 << 32)), raw);
    let wide = [0x9a82_2623_fd13_55ba_u64, 0x3f3f_7f79_4bd4_b252];
    let base = i64::MIN;
    let expected = wide.map(|word| word.cast_signed().wrapping_add(base));
    assert_eq!(drawn::<i64>(2, |out| random_int(out, START, base, 0)), expected);
    let bools = drawn::<element::Boolean>(4, |out| random_int(out, START, 0, 2));
    assert_eq!(bools.map_to_bytes(), [1, 0, 1, 0]);
}

trait MapToBytes {
    fn map_to_bytes(&self) -> Vec<u8>;
}

impl MapToBytes for Vec<element::Boolean> {
    fn map_to_bytes(&self) -> Vec<u8> {
        self.iter().map(|boolean| boolean.0).collect()
    }
}

#[test]
fn offsets_advance_by_threads() {
    assert_eq!([0, 1, 4, 10].map(pointwise_blocks), [0, 1, 1, 3]);
    assert_eq!(random_int_blocks(10, Dtype::Int32), 3);
    assert_eq!(random_int_blocks(10, Dtype::Int64), 5);
    assert_eq!([0, 1, 2, 384].map(|n| randperm_blocks(n, Dtype::Int64)), [0, 0, 1, 96]);
    assert_eq!([0, 1, 384].map(|n| randperm_blocks(n, Dtype::Float32)), [0, 1, 96]);
    assert_eq!([385, 32_767, 32_768].map(|n| randperm_blocks(n, Dtype::Int64)), [97, 8192, 8192 + 32_768]);
    assert_eq!(multinomial_blocks(9), 3);
}

#[test]
fn a_range_does_not_depend_on_what_is_before_it() {
    let whole = drawn::<f32>(64, |out| normal(out, START, 0.0, 1.0));
    let later = drawn::<f32>(24, |out| normal(out, START.skip(10), 0.0, 1.0));
    assert_eq!(whole[40..], later);
}

#[test]
fn pointwise_distributions_have_their_moments() {
    let start = random_start();
    let many = |fill: &dyn Fn(&mut Output) -> Result<(), DistributionError>| drawn::<f32>(MANY, fill);
    let uniforms = many(&|out| uniform(out, start, 0.0, 1.0));
    check_moments(&uniforms, 0.5, 1.0 / 12.0, 1.0 / 80.0, &format!("uniform, {start:?}"));
    assert!(uniforms.iter().all(|value| (0.0..1.0).contains(value)));
    let normals = many(&|out| normal(out, start, 1.0, 3.0));
    check_moments(&normals, 1.0, 9.0, 3.0 * 81.0, &format!("normal, {start:?}"));
    let exponentials = many(&|out| exponential(out, start, 2.0));
    check_moments(&exponentials, 0.5, 0.25, 9.0 / 16.0, &format!("exponential, {start:?}"));
    assert!(exponentials.iter().all(|value| *value >= 0.0 && value.is_finite()));
    // Trials of probability p: variance (1-p)/p²; the fourth central moment is variance² (9 + p²/(1-p)).
    let trials = many(&|out| geometric(out, start, 0.25));
    check_moments(&trials, 4.0, 12.0, 144.0 * (9.0 + 0.0625 / 0.75), &format!("geometric, {start:?}"));
    assert!(trials.iter().all(|value| *value >= 1.0));
    let draws = many(&|out| bernoulli(out, start, 0.3));
    let fourth = 0.3 * 0.7 * (0.7_f64.powi(3) + 0.3_f64.powi(3));
    check_moments(&draws, 0.3, 0.21, fourth, &format!("bernoulli, {start:?}"));
    // Cauchy has no moments: half of all values lie within one scale of the median.
    let cauchys = many(&|out| cauchy(out, start, 5.0, 2.0));
    let near = cauchys.iter().filter(|value| (**value - 5.0).abs() < 2.0).count() as f64 / MANY as f64;
    assert!((near - 0.5).abs() < 6.0 * (0.25 / MANY as f64).sqrt(), "{near}, {start:?}");
}

#[test]
fn integer_forms_agree_with_the_float_form() {
    let floats = drawn::<f32>(999, |out| geometric(out, START, 0.5));
    let longs = drawn::<i64>(999, |out| geometric(out, START, 0.5));
    assert!(floats.iter().zip(&longs).all(|(float, long)| *float == *long as f32));
    let floats = drawn::<f32>(999, |out| bernoulli(out, START, 0.5));
    let bools = drawn::<element::Boolean>(999, |out| bernoulli(out, START, 0.5));
    assert!(floats.iter().zip(&bools).all(|(float, bool)| *float == f32::from(bool.0)));
}

#[test]
fn each_element_has_its_own_probability() {
    let p: Vec<f32> = (0..MANY).map(|index| [0.0, 0.25, 1.0][index % 3]).collect();
    let start = random_start();
    let draws = drawn::<f32>(MANY, |out| bernoulli_tensor(out, start, &input(&p)));
    let ones = |which: usize| draws.iter().skip(which).step_by(3).sum::<f32>() as f64;
    let third = (MANY / 3) as f64;
    assert_eq!(ones(0), 0.0);
    assert!((ones(1) / third - 0.25).abs() < 6.0 * (0.1875 / third).sqrt(), "{start:?}");
    assert!(ones(2) >= third);
    // The scalar form with the same probability draws the same.
    let same = vec![0.3_f32; 1001];
    let tensor = drawn::<i16>(1001, |out| bernoulli_tensor(out, START, &input(&same)));
    assert_eq!(tensor, drawn::<i16>(1001, |out| bernoulli(out, START, 0.3)));
}

#[test]
fn dropout_scales_what_it_keeps() {
    let values: Vec<f32> = (0..MANY).map(|index| index as f32 + 1.0).collect();
    let start = random_start();
    let mut mask = vec![2_u8; MANY];
    // SAFETY: the vector's elements, which nothing else uses while `mask_out` lives.
    let mut mask_out = unsafe { Output::new(mask.as_mut_ptr(), MANY, Dtype::Bool) };
    let out = drawn::<f32>(MANY, |out| dropout(out, &mut mask_out, start, &input(&values), 0.25));
    let kept = mask.iter().map(|&kept| f64::from(kept)).sum::<f64>() / MANY as f64;
    assert!((kept - 0.75).abs() < 6.0 * (0.1875 / MANY as f64).sqrt(), "{kept}, {start:?}");
    let scale = 1.0 / 0.75_f32;
    for ((value, kept), out) in values.iter().zip(&mask).zip(out) {
        assert_eq!(out, if *kept == 1 { value * scale } else { 0.0 });
    }
    let mut mask_out = unsafe_mask(&mut mask);
    let none = drawn::<f32>(MANY, |out| dropout(out, &mut mask_out, start, &input(&values), 1.0));
    assert!(none.iter().all(|&value| value == 0.0) && mask.iter().all(|&kept| kept == 0));
    let mut mask_out = unsafe_mask(&mut mask);
    let error = drawn_error::<i32>(4, |out| dropout(out, &mut mask_out, start, &input(&[1_i32, 2, 3, 4]), 0.5));
    assert_eq!(error, "native_dropout_mps: input must be a floating-point or complex tensor, got Int");
}

fn unsafe_mask(mask: &mut [u8]) -> Output {
    // SAFETY: callers use the mask again only when they are done with the output.
    unsafe { Output::new(mask.as_mut_ptr(), mask.len(), Dtype::Bool) }
}

fn drawn_error<T: Element>(count: usize, fill: impl FnOnce(&mut Output) -> Result<(), DistributionError>) -> String {
    let mut memory = vec![T::from_i64(0); count];
    // SAFETY: the vector's elements, which nothing else uses meanwhile.
    let mut out = unsafe { Output::new(memory.as_mut_ptr().cast(), count, dtype_of::<T>()) };
    fill(&mut out).unwrap_err().to_string()
}

#[test]
fn gammas_have_their_moments() {
    let start = random_start();
    for shape in [0.2_f32, 1.0, 2.5, 40.0] {
        let shapes = vec![shape; MANY];
        let values = drawn::<f32>(MANY, |out| gamma(out, start, &input(&shapes)));
        let shape = f64::from(shape);
        let fourth = 3.0 * shape * shape + 6.0 * shape;
        check_moments(&values, shape, shape, fourth, &format!("gamma {shape}, {start:?}"));
        assert!(values.iter().all(|&value| value >= f32::MIN_POSITIVE));
    }
    let corners = drawn::<f32>(3, |out| gamma(out, start, &input(&[0.0_f32, f32::NAN, -1.0])));
    assert!(corners[0] == 0.0 && corners[1].is_nan() && corners[2].is_nan());
}

#[test]
fn dirichlet_rows_sum_to_one() {
    let start = random_start();
    let shapes = [1.0_f32, 2.0, 5.0].repeat(MANY / 8);
    let values = drawn::<f32>(shapes.len(), |out| dirichlet(out, start, &input(&shapes), 3));
    // Three roundings to float.
    assert!(values.chunks(3).all(|row| (row.iter().sum::<f32>() - 1.0).abs() <= 4.0 * f32::EPSILON));
    for (column, shape) in [1.0, 2.0, 5.0_f64].into_iter().enumerate() {
        let column: Vec<f32> = values.iter().skip(column).step_by(3).copied().collect();
        let expected = shape / 8.0;
        let error = 6.0 * (expected * (1.0 - expected) / 9.0 / column.len() as f64).sqrt();
        assert!((moments(&column).0 - expected).abs() < error, "{start:?}");
    }
    let error = drawn_error::<f32>(4, |out| dirichlet(out, start, &input(&[1.0_f32; 4]), 3));
    assert_eq!(error, "sample_dirichlet: output has 4 elements, expected 3");
}

#[test]
fn counts_have_their_moments() {
    let start = random_start();
    for rate in [0.1_f32, 3.0, 9.9, 10.0, 200.0] {
        let rates = vec![rate; MANY];
        let values = drawn::<f32>(MANY, |out| poisson(out, start, &input(&rates)));
        let rate = f64::from(rate);
        check_moments(&values, rate, rate, rate + 3.0 * rate * rate, &format!("poisson {rate}, {start:?}"));
        assert!(values.iter().all(|value| *value >= 0.0 && value.fract() == 0.0));
    }
    for (n, p) in [(1.0_f32, 0.5_f32), (20.0, 0.1), (30.0, 0.9), (100.0, 0.4), (5000.0, 0.999), (100_000.0, 0.3)] {
        let (counts, probabilities) = (vec![n; MANY], vec![p; MANY]);
        let values = drawn::<f32>(MANY, |out| binomial(out, start, &input(&counts), &input(&probabilities)));
        let (trials, p) = (f64::from(n), f64::from(p));
        let variance = trials * p * (1.0 - p);
        let fourth = variance * (1.0 + 3.0 * (trials - 2.0) * p * (1.0 - p));
        check_moments(&values, trials * p, variance, fourth, &format!("binomial {n} {p}, {start:?}"));
        assert!(values.iter().all(|value| (0.0..=n).contains(value) && value.fract() == 0.0));
    }
}

#[test]
fn counts_follow_their_probabilities() {
    // Chi-squared over the cells with an expectation of at least 10, on both sides of the change of method.
    let start = random_start();
    for rate in [2.0_f32, 9.5, 12.0, 60.0] {
        let rates = vec![rate; MANY];
        let rate = f64::from(rate);
        let values = drawn::<f32>(MANY, |out| poisson(out, start, &input(&rates)));
        let mut probability = (-rate).exp();
        let (mut statistic, mut cells) = (0.0_f64, 0.0_f64);
        for k in 0..200 {
            let expected = probability * MANY as f64;
            if expected >= 10.0 {
                let found = values.iter().filter(|&&value| value == k as f32).count() as f64;
                statistic += (found - expected).powi(2) / expected;
                cells += 1.0;
            }
            probability *= rate / f64::from(k + 1);
        }
        // Six standard deviations of chi-squared.
        assert!(
            statistic < cells + 6.0 * (2.0 * cells).sqrt() + 6.0,
            "rate {rate}: {statistic} over {cells}, {start:?}"
        );
    }
}

#[test]
fn count_corners() {
    let rates = [0.0_f32, -1.0, f32::NAN, f32::INFINITY, 1e9];
    let values = drawn::<f32>(5, |out| poisson(out, START, &input(&rates)));
    assert_eq!(values[..4], [0.0; 4]);
    assert!((values[4] - 1e9).abs() < 1e6);
    let (counts, p) = ([0.0_f32, 10.0, 10.0, 10.0, f32::NAN, -1.0], [0.5_f32, 0.0, 1.0, f32::NAN, 0.5, 0.5]);
    let values = drawn::<f32>(6, |out| binomial(out, START, &input(&counts), &input(&p)));
    assert_eq!(values[..3], [0.0, 0.0, 10.0]);
    assert!(values[3].is_nan() && values[4].is_nan() && values[5] == 0.0);
}

#[test]
fn permutations_hold_every_number_once() {
    for n in [0, 1, 2, 5, 384, 385, 5000, 32_767, 32_768, 100_003] {
        let mut numbers = drawn::<i64>(n, |out| randperm(out, random_start()));
        let sorted: Vec<i64> = (0..n as i64).collect();
        assert!(n < 5 || numbers != sorted || n == 5, "{n} numbers in order");
        numbers.sort_unstable();
        assert_eq!(numbers, sorted);
    }
    let numbers = drawn::<u8>(200, |out| randperm(out, START));
    assert_eq!(numbers.iter().collect::<HashSet<_>>().len(), 200);
}

#[test]
fn the_middle_permutation_sorts_uniform_keys() {
    let keys = drawn::<f32>(1000, |out| uniform(out, START, 0.0, 1.0));
    let order = drawn::<u32>(1000, |out| randperm(out, START));
    assert!(order.windows(2).all(|pair| keys[pair[0] as usize] <= keys[pair[1] as usize]));
}

#[test]
fn permutations_are_even() {
    // Each of the 24 orders of 4 numbers, for the shuffle; the place of number 0, for the large sort.
    let mut found = std::collections::BTreeMap::<Vec<i32>, u32>::new();
    let start = random_start();
    for round in 0..24_000 {
        *found.entry(drawn::<i32>(4, |out| randperm(out, start.skip(round)))).or_default() += 1;
    }
    assert_eq!(found.len(), 24);
    let statistic: f64 = found.values().map(|&count| (f64::from(count) - 1000.0).powi(2) / 1000.0).sum();
    assert!(statistic < 23.0 + 6.0 * 46.0_f64.sqrt(), "{statistic}, {start:?}");
    let n = 40_000;
    let order = drawn::<i32>(n, |out| randperm(out, start));
    let displacement = order.iter().enumerate().map(|(at, &number)| (at as f64 - f64::from(number)).abs()).sum::<f64>();
    // Mean |i - j| of independent places is n/3, its standard deviation n/√18 over √n of them.
    let (mean, error) = (displacement / n as f64, 6.0 * n as f64 / 18.0_f64.sqrt() / (n as f64).sqrt());
    assert!((mean - n as f64 / 3.0).abs() < error, "{mean}, {start:?}");
}

#[test]
fn categories_follow_their_weights() {
    let start = random_start();
    let weights = [1.0_f32, 0.0, 3.0, 4.0, 0.5, 0.5, 0.0, 0.0];
    let drawn = drawn::<i64>(2 * MANY, |out| multinomial(out, start, &input(&weights), 2, MANY));
    for (row, expected) in [[0.125, 0.0, 0.375, 0.5], [0.5, 0.5, 0.0, 0.0_f64]].into_iter().enumerate() {
        for (category, p) in expected.into_iter().enumerate() {
            let found =
                drawn[row * MANY..][..MANY].iter().filter(|&&c| c == category as i64).count() as f64 / MANY as f64;
            assert!(
                (found - p).abs() <= 6.0 * (p * (1.0 - p) / MANY as f64).sqrt(),
                "{row} {category} {found}, {start:?}"
            );
        }
    }
}

#[test]
fn other_dtypes_are_refused_by_kernel_name() {
    assert_eq!(
        drawn_error::<i32>(1, |out| normal(out, START, 0.0, 1.0)),
        "Failed to create function state object for: normal_int"
    );
    assert_eq!(
        drawn_error::<i64>(1, |out| uniform(out, START, 0.0, 1.0)),
        "Failed to create function state object for: uniform_dist_long"
    );
    let mut halves = [0_u16; 2];
    // SAFETY: the two halves, which nothing else uses meanwhile.
    let mut complex = unsafe { Output::new(halves.as_mut_ptr().cast(), 1, Dtype::ComplexHalf) };
    for (result, kernel) in [
        (random_int(&mut complex, START, 0, 1), "random_int"),
        (bernoulli(&mut complex, START, 0.5), "bernoulli_scalar"),
    ] {
        let expected = format!("Failed to create function state object for: {kernel}_half2");
        assert_eq!(result.unwrap_err().to_string(), expected);
    }
    assert_eq!(
        drawn_error::<u16>(1, |out| bernoulli(out, START, 0.5)),
        "Failed to create function state object for: bernoulli_scalar_ushort"
    );
    assert_eq!(
        drawn_error::<f32>(2, |out| poisson(out, START, &input(&[1.0_f32]))),
        "poisson: rate has 1 elements, expected 2"
    );
}

#[test]
fn nothing_is_drawn_for_nothing() {
    // SAFETY: no elements, so the address is never used.
    let mut out = unsafe { Output::new(std::ptr::null_mut(), 0, Dtype::Float32) };
    uniform(&mut out, START, 0.0, 1.0).unwrap();
    // SAFETY: as above.
    let none = unsafe { Input::new(std::ptr::null(), 0, Dtype::Float32) };
    dirichlet(&mut out, START, &none, 0).unwrap();
    assert!(out.is_empty() && none.is_empty());
}
