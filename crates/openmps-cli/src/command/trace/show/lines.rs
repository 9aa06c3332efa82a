//! What kernels do by line of their source: from their text, and counted by running the launches again.

use std::collections::BTreeMap;

use openmps::replay::Replayer;
use openmps_engine::LineWork;
use openmps_trace::{Capture, PipelineNumber};

use super::super::counting::{CountingKernels, Work};
use super::super::module::Modules;
use crate::failure::Failure;
use crate::progress::Progress;

/// What is known of a kernel.
#[derive(Default)]
pub(super) struct KernelLines {
    /// What its text does, every piece once.
    pub(super) text: Vec<LineWork>,
    /// What its launches did.
    pub(super) done: Work,
}

/// What is known of all kernels, in the capture's order of pipelines.
pub(super) struct Lines {
    pub(super) kernels: Vec<KernelLines>,
    /// What could not be counted.
    pub(super) notices: Vec<String>,
}

impl Lines {
    /// Of the kernels with a source; with `count` by running every launch once.
    ///
    /// # Errors
    /// [`Failure`] for a launch that cannot be run, when counting was asked for.
    pub(super) fn of_capture(capture: &Capture, count: bool) -> Result<Self, Failure> {
        let modules = Modules::new(capture);
        let mut counting = CountingKernels::new(capture, modules.client());
        let mut kernels = Vec::new();
        // Many kernels of one library fail for one reason.
        let mut reasons: BTreeMap<String, String> = BTreeMap::new();
        for (number, pipeline) in (0..).zip(capture.pipelines()) {
            let known = counting.of(PipelineNumber(number));
            let text = known.as_ref().ok().filter(|known| known.has_lines).map(|known| known.text());
            if let Err(reason) = known {
                reasons.entry(reason).or_insert_with(|| pipeline.name.clone());
            }
            kernels.push(KernelLines { text: text.unwrap_or_default(), done: Work::default() });
        }
        let notice = |(reason, kernel): (String, String)| format!("Lines of {kernel} have no counts: {reason}");
        let mut lines = Self { kernels, notices: reasons.into_iter().map(notice).collect() };
        if count {
            lines.run(capture, &mut counting)?;
        }
        Ok(lines)
    }

    /// Runs every launch once with a kernel that counts.
    fn run<'a>(&mut self, capture: &'a Capture, counting: &mut CountingKernels<'a>) -> Result<(), Failure> {
        let mut replayer = Replayer::new(capture);
        let progress = Progress::new(capture.launches().count(), "launches");
        for (number, launch) in capture.launches().enumerate() {
            let name = &capture.pipeline(launch.pipeline).name;
            progress.show(name);
            let refuse =
                |error: &dyn std::fmt::Display| Failure::Message(format!("launch {number} of {name}: {error}"));
            if let Ok(kernel) = counting.of(launch.pipeline)
                && kernel.has_lines
            {
                let mut replay = replayer.prepare(launch).map_err(|error| refuse(&error))?;
                let work = kernel.run(&mut replay).map_err(|error| refuse(&error))?;
                self.kernels[launch.pipeline.0 as usize].done.add(&work.unwrap_or_default());
            }
            progress.step();
        }
        progress.finish();
        Ok(())
    }
}
