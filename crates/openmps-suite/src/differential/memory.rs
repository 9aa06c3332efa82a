//! The buffers of one launch, as bytes that kernels and the interpreter share a layout of.

use super::program::{ATOMIC_ELEMENTS, GRID_THREADS_MAX, INPUT_ELEMENTS, Kernel, PARAMETER_SMALL, PARAMETERS};
use super::scalar::{Scalar, constant};
use crate::machine::{Launch, Random};

/// Memory as aligned as vectors of any type need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
struct Line {
    words: [u64; 8],
}

/// Elements of one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Array {
    pub(super) scalar: Scalar,
    lines: Vec<Line>,
}

impl Array {
    fn new(scalar: Scalar, elements: usize) -> Self {
        Self { scalar, lines: vec![Line { words: [0; 8] }; (elements * scalar.bytes()).div_ceil(64)] }
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len() * 64 / self.scalar.bytes()
    }

    /// Element `index`.
    pub(super) fn get(&self, index: usize) -> u64 {
        let bits = self.scalar.bits();
        let at = index * self.scalar.bytes();
        let shift = 8 * (at % 8);
        self.lines[at / 64].words[at / 8 % 8] >> shift & (u64::MAX >> (64 - bits))
    }

    /// Element `index`, if there is one.
    pub(super) fn checked(&self, index: usize) -> Option<u64> {
        (index < self.len()).then(|| self.get(index))
    }

    pub(super) fn set(&mut self, index: usize, value: u64) {
        let mask = u64::MAX >> (64 - self.scalar.bits());
        let at = index * self.scalar.bytes();
        let shift = 8 * (at % 8);
        let word = &mut self.lines[at / 64].words[at / 8 % 8];
        *word = *word & !(mask << shift) | (value & mask) << shift;
    }
}

/// What a kernel reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Inputs {
    pub(super) parameters: Vec<u64>,
    pub(super) arrays: Vec<Array>,
}

/// What a kernel may write.
#[derive(Clone, Debug)]
pub(super) struct Results {
    pub(super) outputs: Vec<Array>,
    /// Results of atomic operations on `uint`, `int` and `float`.
    pub(super) unsigned: Array,
    pub(super) signed: Array,
    pub(super) floats: Array,
}

/// Everything that a kernel is bound to.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    pub(super) inputs: Inputs,
    pub(super) results: Results,
}

impl Memory {
    /// Random inputs; outputs with a pattern.
    pub(super) fn new(kernel: &Kernel, random: &mut Random) -> Self {
        let parameter = |number: usize| {
            let is_small = number < 4;
            u64::from(if is_small { random.below(PARAMETER_SMALL) } else { random.bits32() >> random.below(32) })
        };
        let parameters = (0..PARAMETERS).map(parameter).collect();
        let arrays = kernel.inputs.iter().map(|scalar| input(*scalar, random)).collect();
        let outputs = kernel.outputs.iter().map(|output| {
            let mut array = Array::new(output.scalar, GRID_THREADS_MAX * output.slots);
            (0..array.len()).for_each(|index| array.set(index, constant(output.scalar, 7)));
            array
        });
        let mut unsigned = Array::new(Scalar::U32, ATOMIC_ELEMENTS);
        (16..32).for_each(|slot| unsigned.set(slot, 0xffff_ffff));
        let mut signed = Array::new(Scalar::I32, ATOMIC_ELEMENTS);
        (0..ATOMIC_ELEMENTS).for_each(|slot| signed.set(slot, 0x8000_0000));
        let floats = Array::new(Scalar::F32, ATOMIC_ELEMENTS);
        let results = Results { outputs: outputs.collect(), unsigned, signed, floats };
        Self { inputs: Inputs { parameters, arrays }, results }
    }

    /// Binds everything in the order of the text's arguments.
    pub(super) fn launch(&mut self, parameters: &mut [u32]) -> Launch {
        for (word, value) in parameters.iter_mut().zip(&self.inputs.parameters) {
            *word = u32::try_from(*value).expect("32 bits");
        }
        let mut launch = Launch::new().buffer(parameters);
        for array in self.inputs.arrays.iter_mut().chain(&mut self.results.outputs) {
            launch = launch.buffer(&mut array.lines);
        }
        let Results { unsigned, signed, floats, .. } = &mut self.results;
        launch.buffer(&mut unsigned.lines).buffer(&mut signed.lines).buffer(&mut floats.lines)
    }
}

impl Results {
    /// All of them, with the names of the text.
    pub(super) fn named(&self) -> impl Iterator<Item = (String, &Array)> {
        let outputs = self.outputs.iter().enumerate().map(|(number, array)| (format!("out{number}"), array));
        let atomics =
            [("unsigned_words", &self.unsigned), ("signed_words", &self.signed), ("float_words", &self.floats)];
        outputs.chain(atomics.map(|(name, array)| (name.to_owned(), array)))
    }
}

/// Random elements: small numbers, any bits, and for floats the special values, but no subnormal numbers.
fn input(scalar: Scalar, random: &mut Random) -> Array {
    let mut array = Array::new(scalar, INPUT_ELEMENTS);
    let kind = random.below(3);
    for index in 0..array.len() {
        let bits = if scalar.is_float() { float(scalar, kind, random) } else { integer(scalar, kind, random) };
        array.set(index, bits);
    }
    array
}

fn integer(scalar: Scalar, kind: u32, random: &mut Random) -> u64 {
    let bits = random.bits();
    match kind {
        0 => bits & 31,
        1 => bits,
        _ => match bits >> 60 {
            0 => 0,
            1 => u64::MAX,
            2 => 1 << (scalar.bits() - 1),
            3 => (1 << (scalar.bits() - 1)) - 1,
            _ => bits >> (bits >> 32 & 63),
        },
    }
}

fn float(scalar: Scalar, kind: u32, random: &mut Random) -> u64 {
    let bits = random.bits();
    let quarter = |bits: u64| i32::try_from(bits & 63).expect("small") - 32;
    let encode = |value: f64| super::scalar::encode(scalar, value);
    if kind == 2 {
        match bits >> 59 {
            0 => return encode(f64::NAN),
            1 => return encode(f64::INFINITY),
            2 => return encode(f64::NEG_INFINITY),
            3 => return encode(-0.0),
            4 => return encode(60_000.0),
            5 => return encode(if scalar == Scalar::F16 { 0.001 } else { 1e-30 }),
            6 => return encode(if scalar == Scalar::F16 { -3e4 } else { -1e30 }),
            7 => return encode(random.between(-1e5, 1e5)),
            _ => {}
        }
    }
    encode(if kind == 1 { random.between(-16.0, 16.0) } else { f64::from(quarter(bits)) / 4.0 })
}
