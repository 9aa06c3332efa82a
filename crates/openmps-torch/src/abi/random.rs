//! Fills tensors with random numbers: reserves what a distribution takes from a generator and runs it.
//!
//! Memory comes as [`Elements`]; the caller keeps it valid, contiguous, untouched by others for the call, and places of
//! different arguments apart from each other.

use openmps::generator::Generator;
use openmps::generator::distributions::{self, BLOCKS_PER_ELEMENT, Dtype, Input, Output};

use super::error::AbiError;
use super::{In, abi};

/// Uniform in `[a, b)`.
pub const POINTWISE_UNIFORM: u32 = 0;
/// Normal with mean `a` and standard deviation `b`.
pub const POINTWISE_NORMAL: u32 = 1;
/// The exponential of a normal value with mean `a` and standard deviation `b`.
pub const POINTWISE_LOG_NORMAL: u32 = 2;
/// Exponential with rate `a`.
pub const POINTWISE_EXPONENTIAL: u32 = 3;
/// Cauchy with median `a` and scale `b`.
pub const POINTWISE_CAUCHY: u32 = 4;
/// Trials up to the first success of probability `a`.
pub const POINTWISE_GEOMETRIC: u32 = 5;
/// 1 with probability `a`, else 0.
pub const POINTWISE_BERNOULLI: u32 = 6;

/// Gamma values of the shapes in `first`.
pub const COUNTED_GAMMA: u32 = 0;
/// Rows of gamma values of the shapes in `first`, each divided by its sum.
pub const COUNTED_DIRICHLET: u32 = 1;
/// Poisson counts of the means in `first`.
pub const COUNTED_POISSON: u32 = 2;
/// Successes in the trials of `first` with the probabilities in `second`.
pub const COUNTED_BINOMIAL: u32 = 3;

/// Contiguous elements of one `c10::ScalarType`.
#[repr(C)]
pub struct Elements {
    /// The first one.
    pub address: u64,
    /// How many.
    pub count: u64,
    /// Number of the `c10::ScalarType`.
    pub scalar_type: u32,
    /// Unused.
    pub padding: u32,
}

impl Elements {
    fn dtype(&self) -> Result<Dtype, AbiError> {
        // Numbers of c10::ScalarType.
        Ok(match self.scalar_type {
            0 => Dtype::UInt8,
            1 => Dtype::Int8,
            2 => Dtype::Int16,
            3 => Dtype::Int32,
            4 => Dtype::Int64,
            5 => Dtype::Float16,
            6 => Dtype::Float32,
            8 => Dtype::ComplexHalf,
            9 => Dtype::ComplexFloat,
            11 => Dtype::Bool,
            15 => Dtype::BFloat16,
            27 => Dtype::UInt16,
            28 => Dtype::UInt32,
            29 => Dtype::UInt64,
            other => {
                return Err(AbiError::Value { name: "scalar_type", value: other.into(), expected: "an MPS dtype" });
            }
        })
    }

    fn count(&self) -> Result<usize, AbiError> {
        let expected = "a count that fits into memory";
        usize::try_from(self.count).map_err(|_| AbiError::Value { name: "count", value: self.count, expected })
    }

    fn address(&self) -> Result<usize, AbiError> {
        let expected = "an address";
        usize::try_from(self.address).map_err(|_| AbiError::Value { name: "address", value: self.address, expected })
    }

    fn output(&self) -> Result<Output, AbiError> {
        let address = std::ptr::with_exposed_provenance_mut(self.address()?);
        // SAFETY: the module's contract for memory that callers pass.
        Ok(unsafe { Output::new(address, self.count()?, self.dtype()?) })
    }

    fn input(&self) -> Result<Input, AbiError> {
        let address = std::ptr::with_exposed_provenance(self.address()?);
        // SAFETY: the module's contract for memory that callers pass.
        Ok(unsafe { Input::new(address, self.count()?, self.dtype()?) })
    }
}

fn blocks_per_element(out: &Elements) -> u64 {
    out.count.saturating_mul(BLOCKS_PER_ELEMENT)
}

abi! {
    /// Fills `out` from one of the distributions `OPENMPS_POINTWISE_*` with parameters `a` and `b`.
    fn openmps_random_pointwise(generator: In<'_, Generator>, distribution: u32, out: In<'_, Elements>, a: f64, b: f64) {
        let elements = out.thing("out")?;
        let out = &mut elements.output()?;
        let philox = generator.thing("generator")?.reserve(distributions::pointwise_blocks(elements.count));
        match distribution {
            POINTWISE_UNIFORM => distributions::uniform(out, philox, a, b)?,
            POINTWISE_NORMAL => distributions::normal(out, philox, a, b)?,
            POINTWISE_LOG_NORMAL => distributions::log_normal(out, philox, a, b)?,
            POINTWISE_EXPONENTIAL => distributions::exponential(out, philox, a)?,
            POINTWISE_CAUCHY => distributions::cauchy(out, philox, a, b)?,
            POINTWISE_GEOMETRIC => distributions::geometric(out, philox, a)?,
            POINTWISE_BERNOULLI => distributions::bernoulli(out, philox, a)?,
            _ => {
                let (value, expected) = (distribution.into(), "0 to 6");
                return Err(AbiError::Value { name: "distribution", value, expected });
            }
        }
        Ok(())
    }

    /// Fills `out` with `base` plus a value below `range`, or any value of the width when `range` is 0.
    fn openmps_random_int(generator: In<'_, Generator>, out: In<'_, Elements>, base: i64, range: u64) {
        let elements = out.thing("out")?;
        let out = &mut elements.output()?;
        let blocks = distributions::random_int_blocks(elements.count, out.dtype());
        Ok(distributions::random_int(out, generator.thing("generator")?.reserve(blocks), base, range)?)
    }

    /// Fills `out` with 1 where a uniform value is below the probability in `p`, else 0.
    fn openmps_random_bernoulli_tensor(generator: In<'_, Generator>, out: In<'_, Elements>, p: In<'_, Elements>) {
        let (out, p) = (out.thing("out")?, p.thing("p")?);
        let (output, p) = (&mut out.output()?, p.input()?);
        Ok(distributions::bernoulli_tensor(output, generator.thing("generator")?.reserve(out.count), &p)?)
    }

    /// Keeps elements of `input` with probability 1 - `p`, scaled; `mask` says which.
    fn openmps_random_dropout(generator: In<'_, Generator>, out: In<'_, Elements>, mask: In<'_, Elements>, input: In<'_, Elements>, p: f64) {
        let (out, mask, input) = (out.thing("out")?, mask.thing("mask")?, input.thing("input")?);
        let (output, mask, input) = (&mut out.output()?, &mut mask.output()?, input.input()?);
        let philox = generator.thing("generator")?.reserve(out.count);
        Ok(distributions::dropout(output, mask, philox, &input, p)?)
    }

    /// Fills `out` from one of the distributions `OPENMPS_COUNTED_*`. `second` is read for binomial only; `row` is the length
    /// of a row for Dirichlet only.
    fn openmps_random_counted(generator: In<'_, Generator>, distribution: u32, out: In<'_, Elements>, first: In<'_, Elements>, second: In<'_, Elements>, row: u64) {
        let (out, first) = (out.thing("out")?, first.thing("first")?.input()?);
        let output = &mut out.output()?;
        let philox = generator.thing("generator")?.reserve(blocks_per_element(out));
        match distribution {
            COUNTED_GAMMA => distributions::gamma(output, philox, &first)?,
            COUNTED_DIRICHLET => {
                let row = usize::try_from(row)
                    .map_err(|_| AbiError::Value { name: "row", value: row, expected: "a length" })?;
                distributions::dirichlet(output, philox, &first, row)?;
            }
            COUNTED_POISSON => distributions::poisson(output, philox, &first)?,
            COUNTED_BINOMIAL => distributions::binomial(output, philox, &first, &second.thing("second")?.input()?)?,
            _ => {
                let (value, expected) = (distribution.into(), "0 to 3");
                return Err(AbiError::Value { name: "distribution", value, expected });
            }
        }
        Ok(())
    }

    /// Fills `out` with the numbers below its count in random order.
    fn openmps_random_permutation(generator: In<'_, Generator>, out: In<'_, Elements>) {
        let elements = out.thing("out")?;
        let out = &mut elements.output()?;
        let blocks = distributions::randperm_blocks(elements.count, out.dtype());
        Ok(distributions::randperm(out, generator.thing("generator")?.reserve(blocks))?)
    }

    /// Draws `samples` categories with replacement for each of the `rows` rows of `weights`.
    fn openmps_random_multinomial(generator: In<'_, Generator>, out: In<'_, Elements>, weights: In<'_, Elements>, rows: u64, samples: u64) {
        let (out, weights) = (out.thing("out")?, weights.thing("weights")?.input()?);
        let philox = generator.thing("generator")?.reserve(distributions::multinomial_blocks(out.count));
        let size = |name, value| usize::try_from(value).map_err(|_| AbiError::Value { name, value, expected: "a length" });
        let (rows, samples) = (size("rows", rows)?, size("samples", samples)?);
        Ok(distributions::multinomial(&mut out.output()?, philox, &weights, rows, samples)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uniform_fill_reserves_one_block_for_four_elements() {
        let generator = Generator::new_default_seeded();
        generator.manual_seed(42);
        let mut values = [0.0_f32; 10];
        let address = u64::try_from(values.as_mut_ptr().expose_provenance()).unwrap();
        let elements = Elements { address, count: 10, scalar_type: 6, padding: 0 };
        // SAFETY: `elements` describes `values`, which nobody else uses meanwhile.
        let result =
            unsafe { openmps_random_pointwise(In(Some(&generator)), POINTWISE_UNIFORM, In(Some(&elements)), 0.0, 1.0) };
        assert_eq!(result, super::super::status::OK);
        assert_eq!(generator.offset(), 3);
        // The check vector of seed 42, index 0.
        assert_eq!(values[..4], [0.207_096_82, 0.977_152_47, 0.494_125_28, 0.592_428_45]);
    }

    #[test]
    fn an_unknown_scalar_type_is_refused() {
        let elements = Elements { address: 0, count: 0, scalar_type: 7, padding: 0 };
        assert_eq!(elements.dtype().unwrap_err().to_string(), "argument 'scalar_type' is 7, expected an MPS dtype");
    }
}
