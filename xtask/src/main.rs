//! Automation behind `./dev`: one subcommand a file.
#![forbid(unsafe_code)]

mod artifacts;
mod conformance;
mod environment;
mod process;
mod test;
mod tidy;

use std::process::ExitCode;

use anyhow::{Result, bail};
use process::{Workspace, command};

const HELP: &str = "\
usage: ./dev <command>

  demo           train a small model on \"mps\" and run a Metal kernel, with the story printed
  test           everything CI does: format, lints, tidy, Rust tests, Python tests
  test ARGS      the Python tests that ARGS select (paths and options of pytest)
  build          build and install the package into .venv
  bench [NAME]   the benchmarks (alloc, fast_math, op_overhead, training, trace, shader, memory, soak, engine); all without NAME
  bench engine   kernels against C, PoCL and ATen: --engine scalar|vector, --all-cores, --large, --library, KERNEL...
  conformance msl [PACKAGE...]
                 how much public Metal source compiles; downloads it first
  conformance torch26 [OPTIONS]
                 pipelines and results of the kernels in real libraries; --help for its options
  conformance opinfo [OP...] [OPTIONS]
                 PyTorch's op database on \"mps\" against \"cpu\"; --help for its options
  conformance arm
                 objects for ARM of every conformance kernel
  accuracy [POINTS [SEED]]
                 errors of Metal's math functions in ulps: the page docs/accuracy.md, on standard output
  fuzz engine [SECONDS [SEED]]
                 random kernels on every engine and in an interpreter; what differs is made small
  tidy           the rules of the house that a machine can check
  bless          rewrite snapshot files and texts from what the code prints now, then read the diff
  book           the book (docs/), needs mdbook
  python ARGS    the environment's Python with ARGS
  clean          remove build products, keep .venv";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dev: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let workspace = Workspace::find()?;
    let name = arguments.next().unwrap_or_default();
    let rest: Vec<String> = arguments.collect();
    match (name.as_str(), rest.as_slice()) {
        ("demo", []) => {
            artifacts::build(&workspace)?;
            command(environment::python(&workspace)).arg("python/demo.py").run(&workspace)
        }
        ("test", selection) => test::run(&workspace, selection),
        ("build", []) => artifacts::build(&workspace),
        ("bench", [name, options @ ..]) if name == "engine" => {
            artifacts::build(&workspace)?;
            command(environment::python(&workspace)).arg("python/benchmarks/engine.py").args(options).run(&workspace)
        }
        ("bench", names) => bench(&workspace, names),
        ("conformance", arguments) => conformance::run(&workspace, arguments),
        ("accuracy", numbers) => {
            let example = ["run", "--quiet", "--release", "--package", "openmps-suite", "--example", "accuracy", "--"];
            command("cargo").args(example).args(numbers).run(&workspace)
        }
        ("fuzz", [what, numbers @ ..]) if what == "engine" => {
            let program = ["run", "--quiet", "--release", "--package", "openmps-suite", "--bin", "differential", "--"];
            let mut run = command("cargo").args(program).arg("run");
            for (option, number) in ["--seconds", "--seed"].into_iter().zip(numbers) {
                run = run.arg(option).arg(number);
            }
            run.run(&workspace)
        }
        ("tidy", []) => tidy::run(&workspace),
        ("bless", []) => {
            let tests = command("cargo").args(["nextest", "run", "--workspace"]);
            tests.env("UPDATE_EXPECT", "1").env("BLESS", "1").run(&workspace)
        }
        ("book", []) => command("mdbook").args(["build", "docs"]).run(&workspace),
        ("python", arguments) => {
            artifacts::build(&workspace)?;
            command(environment::python(&workspace)).args(arguments).run(&workspace)
        }
        ("clean", []) => artifacts::clean(&workspace),
        ("help" | "--help" | "-h", _) => {
            println!("{HELP}");
            Ok(())
        }
        _ => bail!("unknown command '{name} {}'\n\n{HELP}", rest.join(" ")),
    }
}

/// Runs Rust's allocation benchmark and the Python ones, each of which prints ratios to its reference.
fn bench(workspace: &Workspace, names: &[String]) -> Result<()> {
    artifacts::build(workspace)?;
    let wanted = |name: &str| names.is_empty() || names.iter().any(|given| given == name);
    let mut ran = 0;
    if wanted("alloc") {
        command("cargo").args(["bench", "--quiet", "--package", "openmps", "--bench", "alloc"]).run(workspace)?;
        ran += 1;
    }
    if wanted("fast_math") {
        let bench = ["bench", "--quiet", "--package", "openmps-suite", "--bench", "fast_math"];
        command("cargo").args(bench).run(workspace)?;
        ran += 1;
    }
    for name in ["op_overhead", "training", "trace", "shader", "memory", "soak", "engine"] {
        if wanted(name) {
            command(environment::python(workspace)).arg(format!("python/benchmarks/{name}.py")).run(workspace)?;
            ran += 1;
        }
    }
    if ran == 0 {
        bail!("no benchmark named '{}'\n\n{HELP}", names.join(" "));
    }
    Ok(())
}
