//! Measures the errors of Metal's math functions and prints the tables of the book: `./dev accuracy [POINTS [SEED]]`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the tables are for standard output")]

use std::process::ExitCode;

use openmps_suite::accuracy::{measure, report};
use openmps_suite::machine::Random;

/// Operands of each function that is not measured at all of them.
const POINTS: u64 = 100_000;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| arguments.next().map_or(Ok(default), |word| word.parse::<u64>());
    let (Ok(points), Ok(seed)) = (number(POINTS), number(Random::fresh_seed())) else {
        eprintln!("usage: accuracy [POINTS [SEED]], two whole numbers");
        return ExitCode::FAILURE;
    };
    let points = usize::try_from(points).unwrap_or(usize::MAX);
    let measurements = measure::all(points, seed);
    print!("{}", report::page(points, seed, &measurements));
    let outside: Vec<_> = measurements.iter().filter(|measurement| measurement.violation_count > 0).collect();
    for measurement in &outside {
        eprintln!("{measurement}");
    }
    if outside.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
