//! What math modes change in numbers: contraction, and no more than Metal's relaxed mode allows. Flags in AIR are tested beside
//! the front end.

use openmps_engine::{CompileOptions, MathMode};
use openmps_suite::machine::{Launch, Program};

/// Results of `body`, which sets `r` from `x`, for each `x`, in `mode`.
fn results(body: &str, mode: MathMode, input: &[f32]) -> Vec<f32> {
    let source = format!(
        "#include <metal_stdlib>\nusing namespace metal;\n\
         kernel void k(device const float* in, device float* out, uint i [[thread_position_in_grid]]) {{\n\
         {body}\n out[i] = r;\n}}"
    );
    let program = Program::new(&source, &CompileOptions { math_mode: mode, ..CompileOptions::default() });
    let (mut input, mut out) = (input.to_vec(), vec![0.0; input.len()]);
    let threads = u32::try_from(input.len()).expect("a few");
    Launch::new().buffer(&mut input).buffer(&mut out).run(program.kernel("k").as_ref(), threads, threads);
    out
}

const MODES: [MathMode; 2] = [MathMode::Safe, MathMode::Fast];
const INFINITY: f32 = f32::INFINITY;

#[test]
fn masks_of_infinity_work_in_every_mode() {
    // Softmax of a row of eight with masked places; the second row has nothing but masked ones and is given zeros.
    let body = "device const float* row = in + i / 8 * 8;
      float top = -INFINITY, sum = 0;
      for (int j = 0; j < 8; j++) top = max(top, row[j]);
      for (int j = 0; j < 8; j++) sum += exp(row[j] - top);
      float r = top == -INFINITY ? 0 : exp(in[i] - top) / sum;";
    let mut input = vec![1.0, -INFINITY, 2.0, -INFINITY, 0.5, -INFINITY, -INFINITY, 3.0];
    input.extend([-INFINITY; 8]);
    for mode in MODES {
        let out = results(body, mode, &input);
        assert!((out[..8].iter().sum::<f32>() - 1.0).abs() < 1e-5, "{mode:?}: {out:?}");
        let weights = [1.0_f32, 2.0, 0.5, 3.0].map(f32::exp);
        for (place, weight) in [0, 2, 4, 7].into_iter().zip(weights) {
            assert!((out[place] - weight / weights.iter().sum::<f32>()).abs() < 1e-6, "{mode:?}: {out:?}");
        }
        assert!([1, 3, 5, 6].into_iter().all(|place| out[place] == 0.0), "{mode:?}: {out:?}");
        assert_eq!(out[8..], [0.0; 8], "{mode:?}");
    }
}

#[test]
fn infinities_and_nan_are_told_apart_in_every_mode() {
    let input = [1.0, INFINITY, -INFINITY, f32::NAN];
    for mode in MODES {
        let class = results("float x = in[i]; float r = isnan(x) ? 3 : isinf(x) ? 2 : 1;", mode, &input);
        assert_eq!(class, [1.0, 2.0, 2.0, 3.0], "{mode:?}");
        let difference = results("float x = in[i]; float r = x - x;", mode, &input);
        assert_eq!(difference.iter().map(|x| x.is_nan()).collect::<Vec<_>>(), [false, true, true, true], "{mode:?}");
        let larger = results("float r = fmax(in[i], 0.0f);", mode, &input);
        assert_eq!(larger, [1.0, INFINITY, 0.0, 0.0], "{mode:?}");
    }
}

#[test]
fn signs_of_zeros_are_kept_in_safe_mode() {
    let sum = results("float r = in[i] + 0.0f;", MathMode::Safe, &[-0.0, 0.0]);
    assert!(sum.iter().all(|x| x.is_sign_positive()), "-0 + 0 is +0: {sum:?}");
    let difference = results("float r = 0.0f - in[i];", MathMode::Safe, &[0.0, -0.0]);
    assert!(difference[0].is_sign_positive(), "0 - 0 is +0");
    let pragma = "#pragma METAL fp math_mode(safe)\n float r = 0.0f - in[i];";
    assert!(results(pragma, MathMode::Fast, &[0.0])[0].is_sign_positive(), "by the pragma too");
}

#[test]
fn roundings_are_kept_in_safe_mode() {
    // 2²³ added and taken away rounds to a whole number; reassociation would give the number back.
    let body = "float r = (in[i] + 8388608.0f) - 8388608.0f;";
    assert_eq!(results(body, MathMode::Safe, &[0.3, 1.7]), [0.0, 2.0]);
    let pragma = format!("#pragma METAL fp math_mode(safe)\n{body}");
    assert_eq!(results(&pragma, MathMode::Fast, &[0.3, 1.7]), [0.0, 2.0]);
}

#[test]
fn contraction_follows_the_pragma() {
    // (1 + 2⁻¹²)² - (1 + 2⁻¹¹) is 2⁻²⁴, which a rounded product loses.
    let exact = f32::powi(2.0, -24);
    let body = "float x = in[i]; float r = x * x + -1.00048828125f;";
    let input = [1.0 + f32::powi(2.0, -12)];
    assert_eq!(results(body, MathMode::Safe, &input), [exact], "within a statement by default");
    for mode in MODES {
        let off = format!("#pragma METAL fp contract(off)\n{body}");
        assert_eq!(results(&off, mode, &input), [0.0], "{mode:?}");
        let fast = "#pragma METAL fp contract(fast)\n float x = in[i]; float p = x * x; float r = p + -1.00048828125f;";
        assert_eq!(results(fast, mode, &input), [exact], "{mode:?}");
    }
    let separate = "float x = in[i]; float p = x * x; float r = p + -1.00048828125f;";
    assert_eq!(results(separate, MathMode::Safe, &input), [0.0], "across statements by a pragma only");
}

#[test]
fn subnormal_numbers_count_as_zero_in_arithmetic_and_keep_their_bits_in_copies() {
    let tiny = f32::from_bits(1 << 20);
    for mode in MODES {
        assert_eq!(results("float r = in[i] * 4.0f;", mode, &[tiny]), [0.0], "{mode:?}");
        assert_eq!(results("float r = in[i] == 0.0f ? 1.0f : 2.0f;", mode, &[tiny]), [1.0], "{mode:?}");
        assert_eq!(results("float r = in[i];", mode, &[tiny])[0].to_bits(), 1 << 20, "{mode:?}");
        // Half keeps them: 2⁻²⁴ is its least number.
        let half = "float r = float(half(in[i]) * half(0.5h));";
        assert_eq!(results(half, mode, &[f32::powi(2.0, -23)]), [f32::powi(2.0, -24)], "{mode:?}");
        assert_eq!(results("float r = half(in[i]) == 0.0h ? 1 : 2;", mode, &[f32::powi(2.0, -24)]), [2.0], "{mode:?}");
    }
}
