//! `openmps trace replay`: the launches of a capture again.

use std::time::Duration;

use openmps::replay::{Replay, Replayer};
use openmps_trace::{Capture, Launch};
use serde::Serialize;

use super::module::{KernelModule, Modules};
use super::open;
use super::statistics::{KernelTimes, Table, median};
use crate::args::trace::{Launches, Replay as Arguments};
use crate::failure::Failure;
use crate::output;

/// What `--json` prints; fields are only added, never renamed.
#[derive(Serialize)]
struct Report {
    launches: Vec<LaunchReport>,
    /// Launches whose results differ without an excuse.
    failures: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    statistics: Option<Table>,
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
    let mut run =
        Run { arguments, replayer: Replayer::new(&capture), modules: Modules::new(&capture), times: Vec::new() };
    let mut launches = Vec::with_capacity(selected.len());
    for (number, launch) in selected {
        let report = run.launch(&capture, number, launch)?;
        if !arguments.json {
            output::print(&report.lines())?;
        }
        launches.push(report);
    }
    let statistics = arguments.time.then(|| Table::new(run.times));
    let failures = launches.iter().filter(|launch| launch.verdict.is_failure()).count();
    let report = Report { launches, failures, statistics };
    if arguments.json {
        output::print_json(&report)?;
    } else {
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
    times: Vec<KernelTimes>,
}

impl<'a> Run<'a> {
    fn launch(&mut self, capture: &'a Capture, number: usize, launch: &'a Launch) -> Result<LaunchReport, Failure> {
        let kernel = capture.pipeline(launch.pipeline).name.clone();
        let refuse = |error: &dyn std::fmt::Display| Failure::Message(format!("launch {number} of {kernel}: {error}"));
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
            let has_atomics = || modules.of(launch.pipeline).is_some_and(KernelModule::has_atomics);
            report.verdict = verdict(outcome.error == launch.error, differences.is_empty(), has_atomics);
            report.differences = differences.iter().map(ToString::to_string).collect();
        } else if outcome.error != launch.error {
            report.verdict = Verdict::Failed;
        }
        if self.arguments.time {
            self.measure(launch, &mut replay, outcome.time).map_err(|error| refuse(&error))?;
        }
        Ok(report)
    }

    /// Runs the launch again as often as asked for; `first` is known already.
    fn measure(
        &mut self,
        launch: &'a Launch,
        replay: &mut Replay<'_>,
        first: Duration,
    ) -> Result<(), openmps::replay::ReplayError> {
        let mut runs = vec![first];
        for _ in 1..self.arguments.repeat {
            runs.push(replay.run()?.time);
        }
        let operations = self.modules.of(launch.pipeline).and_then(KernelModule::operations_per_thread);
        let threads: u64 = launch.threads.into_iter().map(u64::from).product();
        let (read, written) = replay.bytes_reached();
        KernelTimes::add(
            &mut self.times,
            KernelTimes {
                kernel: replay.kernel().name().to_owned(),
                launches: 1,
                medians: median(&runs),
                runs,
                bytes: read + written,
                operations: operations.map(|operations| operations.saturating_mul(threads)),
            },
        );
        Ok(())
    }
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
