//! A library that Apple's compiler made, through the public interface: function constants reach its kernels.
//!
//! The library is mtlattn's, 0.4 MB of PyPI, which `python/conformance/wheels.py` downloads; the compiler is that of the built
//! package (`./dev build`).
#![cfg(feature = "cpu")]

use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::{Expect, expect};
use half::bf16;
use openmps::{Binding, Bindings, Buffer, BufferIndex, ConstantValues, Grid, Kernel, Library, Stream};

/// Attention over sequences of several lengths; whether a bias is added is its function constant `HAS_BIAS`, number 0.
const KERNEL: &str = "attn_mpp_varlen_bfloat";
const DEPTH: usize = 128;
const QUERIES: usize = 19;
const KEYS: usize = 37;
const SCALE: f32 = 0.125;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn library() -> Library {
    openmps::library::set_compiler_directory(root().join("python/openmps/_native"));
    let output = Command::new(root().join(".venv/bin/python"))
        .args(["-m", "conformance.wheels", "mtlattn-mpp"])
        .env("PYTHONPATH", root().join("python"))
        .output()
        .expect("`./dev build` makes the Python environment");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let path = String::from_utf8(output.stdout).expect("the path is UTF-8");
    Library::from_metallib_file(Path::new(path.trim_end())).expect("the library opens")
}

fn has_bias(value: bool) -> ConstantValues {
    let mut values = ConstantValues::default();
    values.set_name("HAS_BIAS", value);
    values
}

/// Numbers of order one that every type holds exactly.
fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from(u8::try_from(state >> 24).expect("eight bits")) / 64.0 - 2.0
    };
    (0..count).map(|_| next()).collect()
}

struct Inputs {
    query: Vec<f32>,
    key: Vec<f32>,
    value: Vec<f32>,
    bias: Vec<f32>,
}

impl Inputs {
    fn new() -> Self {
        Self {
            query: numbers(QUERIES * DEPTH, 1),
            key: numbers(KEYS * DEPTH, 2),
            value: numbers(KEYS * DEPTH, 3),
            bias: numbers(QUERIES * KEYS, 4),
        }
    }

    /// Softmax of the scaled products and the bias, times the values, in double precision.
    fn attend(&self, has_bias: bool) -> Vec<f64> {
        let row = |matrix: &[f32], index: usize| matrix[index * DEPTH..][..DEPTH].to_vec();
        let mut result = Vec::new();
        for query in 0..QUERIES {
            let weights: Vec<f64> = (0..KEYS)
                .map(|key| {
                    let pairs = row(&self.query, query).into_iter().zip(row(&self.key, key));
                    let product: f64 = pairs.map(|(a, b)| f64::from(a) * f64::from(b)).sum();
                    let bias = if has_bias { f64::from(self.bias[query * KEYS + key]) } else { 0.0 };
                    (product * f64::from(SCALE) + bias).exp()
                })
                .collect();
            let sum: f64 = weights.iter().sum();
            let column =
                |place| -> f64 { (0..KEYS).map(|key| weights[key] * f64::from(self.value[key * DEPTH + place])).sum() };
            result.extend((0..DEPTH).map(|place| column(place) / sum));
        }
        result
    }

    /// The kernel's arguments in order of their buffer index.
    fn buffers(&self) -> Vec<Buffer> {
        let narrow = |values: &[f32]| values.iter().flat_map(|value| bf16::from_f32(*value).to_le_bytes()).collect();
        let wide = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let words = |values: &[usize]| {
            values.iter().flat_map(|value| u32::try_from(*value).expect("a small number").to_le_bytes()).collect()
        };
        let word = |value: usize| words(&[value]);
        let (heads, row, off) = (word(1), word(DEPTH), word(0));
        let arguments: Vec<Vec<u8>> = vec![
            narrow(&self.query),
            narrow(&self.key),
            narrow(&self.value),
            vec![0; QUERIES * DEPTH * 2],
            words(&[0, QUERIES]),
            words(&[0, KEYS]),
            heads.clone(),
            wide(&[SCALE]),
            row.clone(),
            row.clone(),
            row,
            off.clone(), // causal
            heads,       // queries' heads for each key's
            off.clone(), // window
            vec![0; QUERIES * 4],
            off.clone(), // logarithms of the sums
            wide(&self.bias),
            word(KEYS), // the bias's rows
            word(0),    // the bias's heads
            off,        // tiles of long sequences
        ];
        arguments.iter().map(|bytes| Buffer::from_bytes(bytes).expect("there is memory")).collect()
    }
}

/// The kernel's result.
fn run(kernel: &Kernel, buffers: &[Buffer]) -> Vec<f32> {
    let mut bindings = Bindings::default();
    for (index, buffer) in (0..).zip(buffers) {
        let address = buffer.contents().as_ptr() as u64;
        bindings.set(BufferIndex(index), Binding::Buffer { address, size_bytes: buffer.len() as u64 });
    }
    let held: Vec<*const u8> = buffers.iter().map(|buffer| buffer.contents().as_ptr().cast_const()).collect();
    let stream = Stream::default_stream();
    // A tile is 16 queries, and 128 threads work on it.
    let tiles = u32::try_from(QUERIES.div_ceil(16)).expect("two");
    kernel
        .encode(stream, bindings, &held, Grid { threads: [tiles * 128, 1, 1], group: [128, 1, 1] })
        .expect("the launch is whole");
    stream.synchronize().expect("the kernel runs");
    buffers[3].to_vec().chunks_exact(2).map(|pair| bf16::from_le_bytes([pair[0], pair[1]]).to_f32()).collect()
}

#[test]
fn function_constants_reach_a_kernel_of_apples_compiler() {
    let (library, inputs) = (library(), Inputs::new());
    for is_biased in [false, true] {
        let kernel = library.kernel_with_constants(KERNEL, &has_bias(is_biased)).unwrap();
        let buffers = inputs.buffers();
        let results = run(&kernel, &buffers);
        for (place, (result, expected)) in results.iter().zip(inputs.attend(is_biased)).enumerate() {
            // Weights and results are rounded to eight bits.
            let error = (f64::from(*result) - expected).abs();
            assert!(error < 0.02, "bias {is_biased}, element {place}: {result}, expected {expected}");
        }
    }
}

fn check_refused(library: &Library, values: &ConstantValues, expected: Expect) {
    let error = library.kernel_with_constants(KERNEL, values).map(|_| ()).expect_err("the constant is wrong");
    expected.assert_eq(&format!("{error}\n"));
}

#[test]
fn a_constant_that_is_missing_or_of_another_type_is_named() {
    let library = library();
    check_refused(
        &library,
        &ConstantValues::default(),
        expect![[r#"
        Failed to created pipeline state object, error: function constant 'HAS_BIAS' (index 0, bool): a value is required, none was set
    "#]],
    );
    let mut wrong = ConstantValues::default();
    wrong.set_index(0, 1.0_f32);
    check_refused(
        &library,
        &wrong,
        expect![[r#"
        Failed to created pipeline state object, error: function constant 'HAS_BIAS' (index 0, bool): the value set has type float
    "#]],
    );
    // By index it is the same constant.
    let mut by_index = ConstantValues::default();
    by_index.set_index(0, false);
    assert!(library.kernel_with_constants(KERNEL, &by_index).is_ok());
}
