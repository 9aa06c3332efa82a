//! A bar for work that takes long: on standard error, only where that is a terminal, so that nothing of it is in a file.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often it is drawn a second, at most.
const DRAWS_HZ: u8 = 10;
/// What is done sooner shows no bar.
const SHOWN_AFTER: Duration = Duration::from_millis(300);

/// A bar over a known number of steps.
pub(crate) struct Progress {
    bar: ProgressBar,
    started: std::time::Instant,
    steps: u64,
}

impl Progress {
    /// A bar of `steps` steps of `what`.
    pub(crate) fn new(steps: usize, what: &'static str) -> Self {
        let steps = steps as u64;
        // A bar that is not shown draws nothing, whatever is told to it.
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::hidden());
        let template = format!("{{bar:24}} {{pos}} of {{len}} {what}, {{eta}} left  {{wide_msg}}");
        bar.set_style(ProgressStyle::with_template(&template).expect("the template is well formed"));
        Self { bar, started: std::time::Instant::now(), steps }
    }

    /// Says what is being done.
    pub(crate) fn show(&self, what: &str) {
        if self.bar.is_hidden() && self.steps > 1 && self.started.elapsed() > SHOWN_AFTER {
            // Hidden still where standard error is no terminal.
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(DRAWS_HZ));
        }
        self.bar.set_message(what.to_owned());
    }

    /// One step is done.
    pub(crate) fn step(&self) {
        self.bar.inc(1);
    }

    /// Takes the bar away while `act` prints.
    pub(crate) fn suspend<T>(&self, act: impl FnOnce() -> T) -> T {
        self.bar.suspend(act)
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
