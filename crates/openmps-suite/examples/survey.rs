//! Compiles kernels of Metal libraries with the vector engine and says what became of them: `survey COUNT SEED LIBRARY...`, or names
//! after `--kernel`. Prints a line a kernel (microseconds of CPU time, vectorised or the reason) and totals. `SURVEY_ENGINE` is
//! `vector` (as when it is not set), `auto`, `scalar` or `refusals`, which finds what `vector` refuses without generating code.
#![expect(clippy::print_stdout, reason = "a program that prints its findings")]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use openmps_air::metallib::Metallib;
use openmps_air::verify::verify_and_reflect;
use openmps_cpu::{CpuEngine, LlvmCodeGenerator};
use openmps_engine::{Engine as _, EngineChoice, EngineOptions};
use openmps_suite::machine::Random;

/// Microseconds that this thread has run, whatever else the machine does.
fn thread_micros() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|nanoseconds| nanoseconds.parse::<u64>().ok()).unwrap_or_default() / 1000
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [count, seed, libraries @ ..] = arguments.as_slice() else { return Err("survey COUNT SEED LIBRARY...".into()) };
    let (count, mut random) = (count.parse::<usize>()?, Random::new(seed.parse()?));
    let split = libraries.iter().position(|word| word == "--kernel").unwrap_or(libraries.len());
    let named: Vec<&String> = libraries.iter().skip(split + 1).collect();
    let wanted = std::env::var("SURVEY_ENGINE").unwrap_or_default();
    let finds_refusals = wanted == "refusals";
    let mut totals: BTreeMap<String, usize> = BTreeMap::new();
    let mut times = Vec::new();
    for path in &libraries[..split] {
        let library = Metallib::open(Path::new(path))?;
        let mut names: Vec<String> = library.names().map(str::to_owned).collect();
        if named.is_empty() {
            for place in (1..names.len()).rev() {
                names.swap(place, usize::try_from(random.bits() % (place as u64 + 1))?);
            }
            names.truncate(count);
        } else {
            names.retain(|name| named.contains(&name));
        }
        for name in names {
            let Some(function) = library.get(&name) else { continue };
            let Ok((air, signatures)) = verify_and_reflect(&function.bitcode()?) else { continue };
            let Some(signature) = signatures.into_iter().find(|it| it.name == name && it.constants.is_empty()) else {
                continue;
            };
            let engine = CpuEngine::new(Arc::new(LlvmCodeGenerator));
            let choice = match wanted.as_str() {
                "scalar" => EngineChoice::Scalar,
                "auto" => EngineChoice::Auto,
                _ => EngineChoice::Vector,
            };
            let options = EngineOptions {
                engine: choice,
                dump_dir: std::env::var("SURVEY_DUMP").ok(),
                ..EngineOptions::default()
            };
            let start = thread_micros();
            let result = if finds_refusals {
                LlvmCodeGenerator.vector_refusal(&air, &signature, &options)
            } else {
                let compiled = engine.compile(&air, &signature, &options);
                compiled.map(|_| engine.counts().refused.keys().next().copied())
            };
            let micros = thread_micros() - start;
            let outcome = match result {
                Err(error) => format!("failed: {error}"),
                Ok(Some(reason)) => format!("refused: {reason}"),
                Ok(None) => "vectorised".to_owned(),
            };
            println!("{micros}\t{outcome}\t{name}");
            *totals.entry(outcome.chars().take(60).collect()).or_default() += 1;
            times.push(micros);
        }
    }
    times.sort_unstable();
    for (outcome, count) in totals {
        println!("{count}\t{outcome}");
    }
    let at = |part: usize| times.get(times.len() * part / 100).copied().unwrap_or(0);
    println!("median {} us, 90 % {} us, 95 % {} us, most {:?} us", at(50), at(90), at(95), times.last());
    Ok(())
}
