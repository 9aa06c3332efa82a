//! Objects for ARM servers of the conformance kernels (`kernels/`), with NEON and with SVE, scalar and as vectors:
//! `arm_objects FOLDER SOURCE...` writes them into the folder.
//!
//! Prints a line an object, fields apart by tabs: the source, the kernel, the CPU, the engine, the object's name in the folder, and
//! the parameters, each `buffer INDEX`, `threadgroup INDEX`, `builtin` or `engine` (what only the engine can give). Kernels that need values of function constants are left
//! out. `conformance.arm` (Python) runs what this makes.
#![expect(clippy::print_stdout, reason = "a program that prints what it made")]

use std::error::Error;
use std::fs;
use std::path::Path;

use openmps_engine::{ArgumentKind, CompileOptions, EngineChoice, EngineOptions, SimdgroupRows};
use openmps_suite::machine::Program;

const TRIPLE: &str = "aarch64-unknown-linux-gnu";
/// NEON alone, and SVE with vectors of 128 and of 256 bits.
const CPUS: [&str; 3] = ["neoverse-n1", "neoverse-v2", "neoverse-v1"];
const ENGINES: [(&str, EngineChoice); 2] = [("scalar", EngineChoice::Scalar), ("vector", EngineChoice::Vector)];

/// What the host has to give for a parameter.
fn parameter(kind: &ArgumentKind) -> String {
    match kind {
        ArgumentKind::Buffer { index, .. } | ArgumentKind::ArgumentBuffer { index, .. } => {
            format!("buffer {}", index.0)
        }
        ArgumentKind::ThreadgroupMemory { index } => format!("threadgroup {}", index.0),
        ArgumentKind::Builtin { .. } => "builtin".to_owned(),
        ArgumentKind::VisibleFunctionTable { .. } | ArgumentKind::Texture { .. } | ArgumentKind::Sampler { .. } => {
            "engine".to_owned()
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, sources @ ..] = arguments.as_slice() else { return Err("arm_objects FOLDER SOURCE...".into()) };
    let mut made = 0;
    for source in sources {
        let program = Program::new(&fs::read_to_string(source)?, &CompileOptions::default());
        for signature in program.plain_kernels() {
            let parameters: Vec<String> =
                signature.arguments.iter().map(|argument| parameter(&argument.kind)).collect();
            for cpu in CPUS {
                for (engine_name, engine) in ENGINES {
                    // Of rows with an end: more launches of the conformance kernels fit than into code of whole rows.
                    let rows = SimdgroupRows::One;
                    let options = EngineOptions { engine, rows, ..EngineOptions::default() };
                    let object = program.object_for(signature, TRIPLE, cpu, &options);
                    let object = object.map_err(|error| format!("{source}: {}, {cpu}: {error}", signature.name))?;
                    let file = format!("{made}.o");
                    fs::write(Path::new(folder).join(&file), object)?;
                    let name = &signature.name;
                    println!("{source}\t{name}\t{cpu}\t{engine_name}\t{file}\t{}", parameters.join(","));
                    made += 1;
                }
            }
        }
    }
    Ok(())
}
