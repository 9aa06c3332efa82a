//! `openmps trace replay`: the launches of a capture again.

use std::collections::HashSet;
use std::time::Duration;

use openmps::Kernel;
use openmps::replay::{Replay, Replayer};
use openmps_engine::LineWork;
use openmps_trace::{Capture, Launch, Origin, PipelineNumber};
use serde::Serialize;

use super::counting::{CountingKernels, Work, WorkReport};
use super::module::{Modules, Sources};
use super::open;
use super::statistics::{KernelTimes, Table, median};
use crate::args::trace::{Launches, Replay as Arguments};
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;

/// A source text has at most this many bytes in a listing.
const SOURCE_BYTES_MAX: u64 = 16 << 20;

/// What `--json` prints; fields are only added, never renamed.
#[derive(Serialize)]
struct Report {
    launches: Vec<LaunchReport>,
    /// Launches whose results differ without an excuse.
    failures: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    statistics: Option<Table>,
    /// With --count.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    work: Vec<WorkReport>,
}

/// One launch that ran again.
#[derive(Serialize)]
struct LaunchReport {
    launch: usize,
    kernel: String,
    verdict: Verdict,
    /// Of the one run, or the first of several.
    nanoseconds: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    differences: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// What came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    /// It ran, and nobody asked for more.
    Ran,
    /// The same bytes.
    Equal,
    /// Other bytes, and the kernel has atomics: the order of its threads may decide.
    OrderDependent,
    /// Other bytes.
    Different,
    /// It ended with another error than in the capture, or with none.
    Failed,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let capture = open(&arguments.file)?;
    let selected = select(&capture, &arguments.launches)?;
    let modules = Modules::new(&capture);
    let mut run = Run {
        arguments,
        replayer: Replayer::new(&capture),
        counting: CountingKernels::new(&capture, modules.client()),
        sources: Sources::new(&capture, modules.client(), false),
        modules,
        times: Vec::new(),
        work: Vec::new(),
        rebuilt: HashSet::new(),
    };
    let mut launches = Vec::with_capacity(selected.len());
    let progress = Progress::new(selected.len(), "launches");
    for (number, launch) in selected {
        progress.show(&capture.pipeline(launch.pipeline).name);
        let report = run.launch(&capture, number, launch)?;
        if !arguments.json {
            progress.suspend(|| output::print(&report.lines()))?;
        }
        launches.push(report);
        progress.step();
    }
    progress.finish();
    let statistics = arguments.time.then(|| Table::new(run.times));
    let failures = launches.iter().filter(|launch| launch.verdict.is_failure()).count();
    let work: Vec<WorkReport> = run.work.iter().map(|(number, entry)| entry.report(&capture, *number)).collect();
    let report = Report { launches, failures, statistics, work };
    if arguments.json {
        output::print_json(&report)?;
    } else {
        for (entry, (number, _)) in report.work.iter().zip(&run.work) {
            output::print(&listing(&capture, *number, entry))?;
        }
        output::print(&report.summary(arguments.check))?;
    }
    if failures == 0 { Ok(()) } else { Err(Failure::Said) }
}

/// The launches that were asked for, with their numbers.
fn select<'a>(capture: &'a Capture, wanted: &Launches) -> Result<Vec<(usize, &'a Launch)>, Failure> {
    let count = capture.launches().count();
    let (from, to) = (wanted.from.unwrap_or(0), wanted.to.unwrap_or(usize::MAX));
    if from > to {
        return Err(Failure::Message(format!("--from {from} is behind --to {to}")));
    }
    if from >= count && count > 0 {
        return Err(Failure::Message(format!("there is no launch {from}: the capture has {count}, counted from 0")));
    }
    let name = |launch: &Launch| capture.pipeline(launch.pipeline).name.clone();
    let named = |launch: &Launch| wanted.kernel.as_ref().is_none_or(|kernel| *kernel == name(launch));
    let in_range = |number: &usize| (from..=to).contains(number);
    let selected: Vec<_> =
        capture.launches().enumerate().filter(|(number, launch)| in_range(number) && named(launch)).collect();
    if let Some(kernel) = wanted.kernel.as_ref().filter(|_| selected.is_empty()) {
        let mut names: Vec<String> = capture.pipelines().iter().map(|pipeline| pipeline.name.clone()).collect();
        names.sort();
        names.dedup();
        let names = names.join(", ");
        return Err(Failure::Message(format!(
            "no launch of kernel '{kernel}' there, the capture's kernels are: {names}"
        )));
    }
    Ok(selected)
}

/// What a run keeps from launch to launch.
struct Run<'a> {
    arguments: &'a Arguments,
    replayer: Replayer<'a>,
    modules: Modules<'a>,
    counting: CountingKernels<'a>,
    sources: Sources<'a>,
    times: Vec<KernelTimes>,
    /// What was counted, by pipeline in order of the first launch.
    work: Vec<(PipelineNumber, KernelWork)>,
    /// Pipelines that were built from their source.
    rebuilt: HashSet<PipelineNumber>,
}

/// What the launches of one pipeline did.
#[derive(Default)]
struct KernelWork {
    launches: u64,
    has_lines: bool,
    work: Work,
}

impl KernelWork {
    fn report(&self, capture: &Capture, number: PipelineNumber) -> WorkReport {
        let lines = if self.has_lines { self.work.lines().copied().collect() } else { Vec::new() };
        let kernel = capture.pipeline(number).name.clone();
        WorkReport { kernel, launches: self.launches, total: self.work.total(), lines }
    }
}

impl<'a> Run<'a> {
    fn launch(&mut self, capture: &'a Capture, number: usize, launch: &'a Launch) -> Result<LaunchReport, Failure> {
        let kernel = capture.pipeline(launch.pipeline).name.clone();
        let refuse = |error: &dyn std::fmt::Display| Failure::Message(format!("launch {number} of {kernel}: {error}"));
        if self.arguments.from_source && self.rebuilt.insert(launch.pipeline) {
            self.rebuild(capture, launch.pipeline).map_err(|error| refuse(&error))?;
        }
        let mut replay = self.replayer.prepare(launch).map_err(|error| refuse(&error))?;
        let outcome = replay.run().map_err(|error| refuse(&error))?;
        let mut report = LaunchReport {
            launch: number,
            kernel: kernel.clone(),
            verdict: Verdict::Ran,
            nanoseconds: nanoseconds(outcome.time),
            differences: Vec::new(),
            error: outcome.error.clone(),
        };
        if self.arguments.check {
            let differences = replay.differences().map_err(|error| refuse(&error))?;
            let modules = &mut self.modules;
            let has_atomics = || modules.has_atomics(launch.pipeline);
            report.verdict = verdict(outcome.error == launch.error, differences.is_empty(), has_atomics);
            report.differences = differences.iter().map(ToString::to_string).collect();
        } else if outcome.error != launch.error {
            report.verdict = Verdict::Failed;
        }
        let operations = if self.arguments.time || self.arguments.count {
            self.count(launch, &mut replay).map_err(|error| refuse(&error))?
        } else {
            None
        };
        if self.arguments.time {
            self.measure(&mut replay, outcome.time, operations).map_err(|error| refuse(&error))?;
        }
        Ok(report)
    }

    /// Runs launches of the pipeline with what its source gives today.
    fn rebuild(&mut self, capture: &Capture, number: PipelineNumber) -> Result<(), String> {
        let pipeline = capture.pipeline(number);
        // Kernels of libraries have no source and run as they are.
        let Some(air) = self.sources.module(number) else { return Ok(()) };
        let kernel = Kernel::from_air(air?.bitcode(), &pipeline.name).map_err(|error| error.to_string())?;
        self.replayer.replace_kernel(number, kernel);
        Ok(())
    }

    /// Counts what the launch does, and returns its floating-point operations; none where that cannot be counted.
    fn count(&mut self, launch: &'a Launch, replay: &mut Replay<'_>) -> Result<Option<u64>, String> {
        let counting = match self.counting.of(launch.pipeline) {
            Ok(counting) => counting,
            // Times can be had without; whoever asks for counts is told.
            Err(error) if self.arguments.count => return Err(error),
            Err(_) => return Ok(None),
        };
        let Some(lines) = counting.run(replay).map_err(|error| error.to_string())? else { return Ok(None) };
        let has_lines = counting.has_lines;
        if self.arguments.count {
            let place = self.work.iter().position(|(number, _)| *number == launch.pipeline);
            let place = place.unwrap_or_else(|| {
                self.work.push((launch.pipeline, KernelWork { has_lines, ..KernelWork::default() }));
                self.work.len() - 1
            });
            let work = &mut self.work[place].1;
            work.launches += 1;
            work.work.add(&lines);
        }
        Ok(Some(lines.iter().map(|work| work.float_operations).sum()))
    }

    /// Runs the launch again as often as asked for; its `first` time and its operations are known already.
    fn measure(
        &mut self,
        replay: &mut Replay<'_>,
        first: Duration,
        operations: Option<u64>,
    ) -> Result<(), openmps::replay::ReplayError> {
        let mut runs = vec![first];
        for _ in 1..self.arguments.repeat {
            runs.push(replay.run()?.time);
        }
        let (read, written) = replay.bytes_reached();
        KernelTimes::add(
            &mut self.times,
            KernelTimes {
                kernel: replay.kernel().name().to_owned(),
                launches: 1,
                medians: median(&runs),
                runs,
                bytes: read + written,
                operations,
            },
        );
        Ok(())
    }
}

/// What a kernel's launches did, by line, with the text of the lines.
fn listing(capture: &Capture, number: PipelineNumber, work: &WorkReport) -> String {
    let WorkReport { kernel, launches, total, lines } = work;
    let mut text = format!(
        "{kernel}: {launches} launches\n{:>14} {:>14} {:>12} {:>12} {:>12} {:>10} {:>9}  line\n",
        "instructions", "float ops", "loads", "stores", "threadgroup", "atomics", "barriers"
    );
    let mut row = |work: &LineWork, place: &str| {
        let LineWork { instructions, float_operations, loads, stores, threadgroup, atomics, barriers, .. } = work;
        let row = format!(
            "{instructions:>14} {float_operations:>14} {loads:>12} {stores:>12} {threadgroup:>12} {atomics:>10} \
             {barriers:>9}  {place}"
        );
        text.push_str(row.trim_end());
        text.push('\n');
    };
    let source = match &capture.pipeline(number).origin {
        Origin::Source { text, .. } => capture.read(*text, SOURCE_BYTES_MAX).unwrap_or_default(),
        Origin::Library { .. } => Vec::new(),
    };
    let source = String::from_utf8_lossy(&source);
    let source: Vec<&str> = source.lines().collect();
    for work in lines {
        let line = usize::try_from(work.line).unwrap_or(0);
        let code = line.checked_sub(1).and_then(|place| source.get(place)).map_or("", |code| code.trim());
        row(work, &format!("{line:>4}  {code}"));
    }
    row(total, " all");
    text
}

fn verdict(same_error: bool, equal: bool, has_atomics: impl FnOnce() -> bool) -> Verdict {
    if !same_error {
        Verdict::Failed
    } else if equal {
        Verdict::Equal
    } else if has_atomics() {
        Verdict::OrderDependent
    } else {
        Verdict::Different
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Verdict {
    fn is_failure(self) -> bool {
        match self {
            Self::Different | Self::Failed => true,
            Self::Ran | Self::Equal | Self::OrderDependent => false,
        }
    }
}

impl LaunchReport {
    /// What there is to say of the launch, if anything.
    fn lines(&self) -> String {
        let Self { launch, kernel, error, .. } = self;
        let head = match self.verdict {
            Verdict::Ran | Verdict::Equal => return String::new(),
            Verdict::OrderDependent => {
                "differs, and the kernel has atomics: its result may depend on the order of threads"
            }
            Verdict::Different => "differs",
            Verdict::Failed => match error {
                Some(error) => return format!("launch {launch} of {kernel} failed: {error}\n"),
                None => "did not fail as it did in the capture",
            },
        };
        let details: String = self.differences.iter().map(|difference| format!("  {difference}\n")).collect();
        format!("launch {launch} of {kernel} {head}\n{details}")
    }
}

impl Report {
    fn summary(&self, check: bool) -> String {
        let count = |verdict| self.launches.iter().filter(|launch| launch.verdict == verdict).count();
        let total: u64 = self.launches.iter().map(|launch| launch.nanoseconds).sum();
        let milliseconds = Duration::from_nanos(total).as_secs_f64() * 1e3;
        let ran = format!("{} launches ran in {milliseconds:.3} ms", self.launches.len());
        let compared = format!(
            ": {} equal bit for bit, {} differ by the order of threads, {} differ, {} failed",
            count(Verdict::Equal),
            count(Verdict::OrderDependent),
            count(Verdict::Different),
            count(Verdict::Failed)
        );
        let table = self.statistics.as_ref().map_or_else(String::new, |table| format!("{table}\n"));
        format!("{table}{ran}{}\n", if check { &compared } else { "" })
    }
}
