//! Every fuzz target over its seeds and some thousand mutations of them, on stable Rust and without a fuzzer.
//!
//! The seed is printed; `OPENMPS_FUZZ_SEED` sets it, and `OPENMPS_FUZZ_SECONDS` runs a target for that long instead.
#![expect(clippy::print_stdout, reason = "seeds and counts are for whoever reads a test's output")]

use std::env;
use std::process::{Command, Output};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use openmps_llvm::Context;
use openmps_suite::fuzzing::mutation::Damage;
use openmps_suite::fuzzing::replay::{Length, corpus, folder, mutation, replay};
use openmps_suite::fuzzing::{TARGETS, Target, object, verify as verify_target};

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().expect("a number in decimal"))
}

/// A fresh seed, printed.
fn seed() -> u64 {
    let fresh = || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970");
        u64::from(now.subsec_nanos()) << 32 | (now.as_secs() & 0xffff_ffff)
    };
    let seed = number("OPENMPS_FUZZ_SEED").unwrap_or_else(fresh);
    println!("OPENMPS_FUZZ_SEED={seed}");
    seed
}

/// Replays the target `name` with at most `rounds` mutations, and stops after ten seconds on a slow machine.
fn check(name: &str, rounds: u64) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target of the list");
    let length = match number("OPENMPS_FUZZ_SECONDS") {
        Some(seconds) => Length { rounds: u64::MAX, time: Duration::from_secs(seconds) },
        None => Length { rounds, time: Duration::from_secs(10) },
    };
    let inputs = corpus(name).expect("the target's seeds");
    let executions = replay(target, &inputs, seed(), length);
    println!("{name}: {executions} executions");
    assert!(executions > inputs.len() as u64, "not one mutation ran");
}

#[test]
fn allocator() {
    check("allocator", 1000);
}

#[test]
fn capture() {
    check("capture", 100_000);
}

#[test]
fn metallib() {
    check("metallib", 100_000);
}

#[test]
fn msl_compile() {
    check("msl_compile", 150);
}

#[test]
fn msl_rewrite() {
    check("msl_rewrite", 20_000);
}

#[test]
fn object() {
    check("object", 20_000);
}

#[test]
fn perfetto() {
    check("perfetto", 100_000);
}

#[test]
fn protocol() {
    check("protocol", 20_000);
}

#[test]
fn settings() {
    check("settings", 20_000);
}

#[test]
fn verify() {
    check("verify", 3000);
}

#[test]
fn each_target_has_a_glue_file_and_seeds() {
    for target in TARGETS {
        let glue = folder().join("fuzz_targets").join(target.name).with_extension("rs");
        assert!(glue.is_file(), "{} is missing", glue.display());
        assert!(corpus(target.name).is_ok_and(|inputs| !inputs.is_empty()), "{} has no seeds", target.name);
    }
}

#[test]
fn seed_objects_load() {
    // Reaching the end of the loader is what makes their mutations worth running.
    for object in corpus("object").expect("the seeds") {
        let loaded = object::load(&object);
        assert!(loaded.as_ref().is_ok_and(|threads| *threads > 0), "{loaded:?}");
    }
}

/// The bitcode of every seed of target `verify`.
fn bitcode() -> Vec<Vec<u8>> {
    let context = Context::new();
    let texts = corpus("verify").expect("the seeds");
    let bitcode = |text: &Vec<u8>| {
        let module = context.parse_ir(str::from_utf8(text).expect("seeds are text")).expect("seeds are valid");
        let bytes = module.write_bitcode().as_bytes().to_vec();
        openmps_air::verify(&bytes).expect("seeds are AIR");
        bytes
    };
    texts.iter().map(bitcode).collect()
}

/// The first round of a process that damages bitcode.
const FIRST_ROUND: &str = "OPENMPS_FUZZ_FIRST_ROUND";
/// Rounds of the test below.
const BITCODE_ROUNDS: u64 = 300;

/// LLVM may die of damaged bitcode, so this runs in processes of its own: a death by signal is counted, a panic of ours fails.
#[test]
fn damaged_bitcode_never_panics() {
    if let Some(first) = number(FIRST_ROUND) {
        let target = Target { name: "verify", run: verify_target::run_bitcode, damage: Damage::InPlace, words: &[] };
        let (inputs, seed) = (bitcode(), seed());
        for round in first..BITCODE_ROUNDS {
            println!("round {round}");
            (target.run)(&mutation(&target, &inputs, seed.wrapping_add(round)));
        }
        return;
    }
    let (seed, mut first, mut deaths) = (seed(), 0, 0);
    loop {
        let output = bitcode_process(seed, first);
        if output.status.success() {
            break;
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let reached = text.lines().rev().find_map(|line| line.strip_prefix("round ")?.parse::<u64>().ok());
        let reached = reached.unwrap_or_else(|| panic!("no round was reached: {output:?}"));
        // Panics end a test process with a code, deaths inside LLVM end it by a signal; so does a panic that cannot unwind.
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code().is_none() && !errors.contains("panicked at"), "round {reached}: {errors}");
        (deaths, first) = (deaths + 1, reached + 1);
    }
    println!("{BITCODE_ROUNDS} executions, LLVM died in {deaths} of them");
}

/// This test again in a process with 8 GiB of address space and a minute of CPU time, from round `first`.
fn bitcode_process(seed: u64, first: u64) -> Output {
    Command::new("sh")
        .args([
            "-c",
            "ulimit -v 8388608 && ulimit -t 60 && exec \"$0\" --exact damaged_bitcode_never_panics --nocapture",
        ])
        .arg(env::current_exe().expect("the test has a file"))
        .env("OPENMPS_FUZZ_SEED", seed.to_string())
        .env(FIRST_ROUND, first.to_string())
        .output()
        .expect("a shell starts")
}
