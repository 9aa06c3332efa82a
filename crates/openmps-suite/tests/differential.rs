//! A fixed number of random kernels on every engine and in the interpreter; `./dev fuzz engine` runs more of them.
//!
//! The seed is printed; `OPENMPS_FUZZ_SEED` sets it.

use openmps_suite::differential::{KERNELS, Tally, Verdict, check_fast_kernel, check_kernel, check_library, source};
use openmps_suite::machine::Random;

/// Libraries of one run.
const LIBRARIES: u64 = 4;
/// Launches of each kernel.
const LAUNCHES: u64 = 40;
/// Kernels that are compared in fast math, and launches of each.
const FAST_KERNELS: u64 = 12;
const FAST_LAUNCHES: u64 = 16;

#[test]
fn engines_do_what_the_interpreter_does() {
    let given = std::env::var("OPENMPS_FUZZ_SEED").ok();
    let seed = given.map_or_else(Random::fresh_seed, |text| text.parse().expect("a number in decimal"));
    println!("OPENMPS_FUZZ_SEED={seed}");
    let mut tally = Tally::default();
    for library in (0..LIBRARIES).map(|number| seed.wrapping_add(number)) {
        match check_library(library, LAUNCHES) {
            Verdict::Same(more) => tally.add(more),
            Verdict::Different(difference) => {
                panic!("{difference}\nmake it small: differential reduce {library} {}", difference.number)
            }
        }
    }
    println!("{} executions, {} skipped", tally.executions, tally.skipped);
    // Kernels without a meaning are few, else nothing is tested.
    assert!(tally.executions > LIBRARIES * KERNELS as u64 * LAUNCHES / 2, "{tally:?}");
}

#[test]
fn a_kernel_alone_does_what_it_does_in_its_library() {
    let seed = 2;
    let Verdict::Same(whole) = check_library(seed, LAUNCHES) else { panic!("library {seed} differs") };
    let mut parts = Tally::default();
    for number in 0..KERNELS {
        assert!(source(seed, number, &[]).contains(&format!("kernel void kernel{number}(")));
        let Verdict::Same(part) = check_kernel(seed, number, &[], LAUNCHES) else { panic!("kernel {number} differs") };
        parts.add(part);
    }
    assert_eq!(whole, parts);
}

#[test]
fn engines_round_alike_in_fast_math() {
    let given = std::env::var("OPENMPS_FUZZ_SEED").ok();
    let seed = given.map_or_else(Random::fresh_seed, |text| text.parse().expect("a number in decimal"));
    println!("OPENMPS_FUZZ_SEED={seed}");
    let mut tally = Tally::default();
    for library in (0..FAST_KERNELS).map(|number| seed.wrapping_add(number)) {
        match check_fast_kernel(library, 0, FAST_LAUNCHES) {
            Verdict::Same(more) => tally.add(more),
            Verdict::Different(difference) => panic!("{difference}"),
        }
    }
    println!("{} executions, {} skipped", tally.executions, tally.skipped);
    assert!(tally.executions > FAST_KERNELS * FAST_LAUNCHES / 4, "{tally:?}");
}
