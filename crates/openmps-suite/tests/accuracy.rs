//! Metal's math functions against the bounds of the specification, at fresh random operands.
//!
//! `./dev accuracy` measures the same at a hundred times as many.

use openmps_suite::accuracy::measure;
use openmps_suite::machine::Random;

/// Random operands of each function, beside the corner values.
const POINTS: usize = 1000;

#[test]
fn every_function_is_within_the_bounds_of_the_specification() {
    let seed = Random::fresh_seed();
    println!("seed {seed}");
    let outside: Vec<String> = measure::all(POINTS, seed)
        .iter()
        .filter(|measurement| measurement.violation_count > 0)
        .map(ToString::to_string)
        .collect();
    assert!(outside.is_empty(), "{}", outside.join("\n"));
}
