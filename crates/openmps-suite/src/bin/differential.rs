//! Random kernels on every engine and in an interpreter, for as long as asked; see `openmps_suite::differential`.
//!
//! `./dev fuzz engine` calls it. Kernels run in processes of their own (`work`, `check`), since generated code may crash or hang.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a program tells what it does")]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use openmps_cpu::Refusal;
use openmps_suite::differential::reduce::reduce;
use openmps_suite::differential::{KERNELS, LAUNCHES, Tally, Verdict, check_kernel, check_library, source};
use openmps_suite::machine::Random;

const USAGE: &str = "usage: differential run [--seconds N] [--seed S] [--keep-going]
       differential check SEED NUMBER [EDIT...]
       differential show SEED NUMBER [EDIT...]
       differential reduce SEED NUMBER";

/// The longest that one library may take.
const LIBRARY_TIME: Duration = Duration::from_secs(120);
/// The longest that one kernel may take while it is reduced.
const KERNEL_TIME: Duration = Duration::from_secs(20);
/// Exit status of a process that found a difference.
const DIFFERENT: u8 = 3;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["run", options @ ..] => run(options),
        ["work", seed, count] => numbers(&[seed, count]).map(|numbers| work(numbers[0], numbers[1])),
        ["check", seed, number, edits @ ..] => with_kernel(seed, number, edits, check),
        ["show", seed, number, edits @ ..] => with_kernel(seed, number, edits, |seed, number, edits| {
            println!("{}", source(seed, number, edits));
            ExitCode::SUCCESS
        }),
        ["reduce", seed, number] => with_kernel(seed, number, &[], |seed, number, _| {
            report(seed, number);
            ExitCode::SUCCESS
        }),
        _ => Err(USAGE.to_owned()),
    };
    outcome.unwrap_or_else(|complaint| {
        println!("{complaint}");
        ExitCode::from(2)
    })
}

fn numbers(words: &[&str]) -> Result<Vec<u64>, String> {
    words.iter().map(|word| word.parse().map_err(|_| format!("{word}: not a number"))).collect()
}

fn with_kernel(
    seed: &str,
    number: &str,
    edits: &[&str],
    call: impl FnOnce(u64, usize, &[usize]) -> ExitCode,
) -> Result<ExitCode, String> {
    let place = |value: u64| usize::try_from(value).expect("64 bits");
    let edits: Vec<usize> = numbers(edits)?.into_iter().map(place).collect();
    let all = numbers(&[seed, number])?;
    Ok(call(all[0], place(all[1]), &edits))
}

fn check(seed: u64, number: usize, edits: &[usize]) -> ExitCode {
    match check_kernel(seed, number, edits, LAUNCHES) {
        Verdict::Same(tally) => {
            println!("{} executions without a difference, {} skipped", tally.executions, tally.skipped);
            ExitCode::SUCCESS
        }
        Verdict::Different(difference) => {
            println!("{difference}");
            ExitCode::from(DIFFERENT)
        }
    }
}

/// Checks `count` libraries from `seed` on: a line when one begins, and one with its tally.
fn work(seed: u64, count: u64) -> ExitCode {
    for library in (0..count).map(|number| seed.wrapping_add(number)) {
        println!("library {library}");
        match check_library(library, LAUNCHES) {
            Verdict::Same(Tally { kernels, executions, skipped, refused }) => {
                for (reason, count) in refused {
                    println!("refused {} {count}", reason.number());
                }
                println!("same {kernels} {executions} {skipped}");
            }
            Verdict::Different(difference) => {
                println!("different {}", difference.number);
                return ExitCode::from(DIFFERENT);
            }
        }
    }
    ExitCode::SUCCESS
}

struct Options {
    seconds: u64,
    seed: u64,
    keeps_going: bool,
}

fn parse(words: &[&str]) -> Result<Options, String> {
    let mut options = Options { seconds: 60, seed: Random::fresh_seed(), keeps_going: false };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut number = || numbers(&[words.next().ok_or_else(|| format!("{word} needs a value"))?]).map(|all| all[0]);
        match *word {
            "--seconds" => options.seconds = number()?,
            "--seed" => options.seed = number()?,
            "--keep-going" => options.keeps_going = true,
            _ => return Err(format!("unknown option '{word}'\n{USAGE}")),
        }
    }
    Ok(options)
}

fn run(words: &[&str]) -> Result<ExitCode, String> {
    let options = parse(words)?;
    println!("seed {}", options.seed);
    let (start, time) = (Instant::now(), Duration::from_secs(options.seconds));
    let (mut seed, mut tally, mut found) = (options.seed, Tally::default(), 0);
    let mut told = Instant::now();
    while start.elapsed() < time {
        if told.elapsed() > PROGRESS_TIME {
            print_tally(&tally, start.elapsed());
            println!("next seed {seed}");
            told = Instant::now();
        }
        let batch = batch(seed, time.saturating_sub(start.elapsed()));
        tally.add(batch.tally);
        seed = batch.next;
        if let Some((library, number)) = batch.failure {
            found += 1;
            match number.or_else(|| (0..KERNELS).find(|number| !outcome(library, *number, &[]).is_same())) {
                Some(number) => report(library, number),
                None => println!("library {library} fails, and none of its kernels does alone"),
            }
            if !options.keeps_going {
                break;
            }
        }
    }
    print_tally(&tally, start.elapsed());
    println!("{found} differences");
    Ok(if found == 0 { ExitCode::SUCCESS } else { ExitCode::from(DIFFERENT) })
}

/// How often progress is told.
const PROGRESS_TIME: Duration = Duration::from_secs(60);

fn print_tally(tally: &Tally, elapsed: Duration) {
    let Tally { kernels, executions, skipped, refused } = tally;
    let each_second = *executions as f64 / elapsed.as_secs_f64();
    let text = format!("{executions} executions of {kernels} kernels, {each_second:.0} a second");
    println!("{text}, {skipped} launches without a meaning");
    for (reason, count) in refused {
        println!("  {count} kernels not vectors: {reason}");
    }
}

/// What one worker process did.
struct Batch {
    tally: Tally,
    /// The first library that it did not finish.
    next: u64,
    /// The library that failed, and its kernel if the process could still say so.
    failure: Option<(u64, Option<usize>)>,
}

/// Libraries of one process: its memory grows with every kernel that it compiles.
const BATCH: u64 = 12;

fn batch(seed: u64, time: Duration) -> Batch {
    let mut child = process(&["work", &seed.to_string(), &BATCH.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program starts");
    let output = BufReader::new(child.stdout.take().expect("piped"));
    let (sender, lines) = channel();
    std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    let mut batch = Batch { tally: Tally::default(), next: seed, failure: None };
    let start = Instant::now();
    let mut library = seed;
    loop {
        match lines.recv_timeout(LIBRARY_TIME) {
            Ok(line) => {
                let words: Vec<&str> = line.split(' ').collect();
                match words.as_slice() {
                    ["library", seed] => library = seed.parse().expect("written above"),
                    ["same", counts @ ..] => {
                        let counts = numbers(counts).expect("written above");
                        batch.tally.kernels += counts[0];
                        batch.tally.executions += counts[1];
                        batch.tally.skipped += counts[2];
                        batch.next = library.wrapping_add(1);
                    }
                    ["refused", counts @ ..] => {
                        let counts = numbers(counts).expect("written above");
                        let number = u32::try_from(counts[0]).expect("written above");
                        let reason = Refusal::from_number(number).expect("written above");
                        *batch.tally.refused.entry(reason).or_default() += counts[1];
                    }
                    ["different", number] => batch.failure = Some((library, number.parse().ok())),
                    _ => println!("{line}"),
                }
                if start.elapsed() > time {
                    stop(&mut child);
                    return batch;
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = child.wait().expect("a child ends");
                if batch.failure.is_none() && !status.success() {
                    println!("library {library}: {status}");
                    batch.failure = Some((library, None));
                }
                break;
            }
            Err(RecvTimeoutError::Timeout) => {
                println!("library {library} hangs");
                stop(&mut child);
                batch.failure = Some((library, None));
                break;
            }
        }
    }
    if batch.failure.is_some() {
        batch.next = library.wrapping_add(1);
    }
    batch
}

fn process(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program has a file"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn stop(child: &mut Child) {
    // It may have ended meanwhile.
    let _ = child.kill();
    let _ = child.wait();
}

/// How a kernel's process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Same,
    Different,
    /// A panic, in a text that does not compile for example.
    Invalid,
    Crashed,
    Hung,
}

impl Outcome {
    fn is_same(self) -> bool {
        self == Self::Same
    }
}

fn outcome(seed: u64, number: usize, edits: &[usize]) -> Outcome {
    let mut arguments = vec!["check".to_owned(), seed.to_string(), number.to_string()];
    arguments.extend(edits.iter().map(ToString::to_string));
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut child = process(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("this program starts");
    let start = Instant::now();
    loop {
        match child.try_wait().expect("a child can be asked") {
            Some(status) => {
                return match status.code() {
                    Some(0) => Outcome::Same,
                    Some(code) if code == i32::from(DIFFERENT) => Outcome::Different,
                    Some(_) => Outcome::Invalid,
                    None => Outcome::Crashed,
                };
            }
            None if start.elapsed() > KERNEL_TIME => {
                stop(&mut child);
                return Outcome::Hung;
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

/// Reduces a kernel that fails and prints it with the commands that repeat it.
fn report(seed: u64, number: usize) {
    let first = outcome(seed, number, &[]);
    println!("kernel {number} of library {seed}: {first:?}; reducing");
    if first.is_same() {
        println!("it does not fail alone");
        return;
    }
    let edits = reduce(seed, number, |edits| outcome(seed, number, edits) == first);
    println!("{}", source(seed, number, &edits));
    let list: Vec<String> = edits.iter().map(ToString::to_string).collect();
    if first == Outcome::Different {
        let _ = check(seed, number, &edits);
    }
    println!("whole: differential check {seed} {number}");
    println!("small: differential check {seed} {number} {}", list.join(" "));
}
