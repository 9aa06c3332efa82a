//! Counting what launches do, by line of their source: kernels that count, built when first needed.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use openmps::replay::{CountingKernel, Replay, ReplayError};
use openmps_compiler::Client;
use openmps_engine::{CountingAir, LineWork};
use openmps_trace::{Capture, PipelineNumber};
use serde::Serialize;

use super::module::{Sources, captured};

/// The counting form of one kernel.
pub(super) struct Counting {
    air: CountingAir,
    /// Whether lines are those of the source; otherwise all work is on line 0.
    pub(super) has_lines: bool,
    name: String,
    kernel: Option<Rc<CountingKernel>>,
}

impl Counting {
    /// What the kernel's text does, every piece once.
    pub(super) fn text(&self) -> Vec<LineWork> {
        self.air.by_line(&vec![1; self.air.blocks.len()])
    }

    /// What `replay`'s threads do; none where that cannot be told: the launch fails, or calls functions through tables.
    pub(super) fn run(&mut self, replay: &mut Replay<'_>) -> Result<Option<Vec<LineWork>>, ReplayError> {
        if !self.air.is_whole {
            return Ok(None);
        }
        let kernel = match &self.kernel {
            Some(kernel) => Rc::clone(kernel),
            None => {
                let kernel = Rc::new(CountingKernel::new(&self.air, &self.name)?);
                Rc::clone(self.kernel.insert(kernel))
            }
        };
        Ok(replay.count(&kernel)?.map(|counts| self.air.by_line(&counts)))
    }
}

/// Counting forms by pipeline.
pub(super) struct CountingKernels<'a> {
    capture: &'a Capture,
    client: Rc<Client>,
    sources: Sources<'a>,
    known: HashMap<PipelineNumber, Result<Counting, String>>,
}

impl<'a> CountingKernels<'a> {
    pub(super) fn new(capture: &'a Capture, client: &Rc<Client>) -> Self {
        let sources = Sources::new(capture, client, true);
        Self { capture, client: Rc::clone(client), sources, known: HashMap::new() }
    }

    /// The counting form of a pipeline.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn of(&mut self, number: PipelineNumber) -> Result<&mut Counting, String> {
        if !self.known.contains_key(&number) {
            let built = self.build(number);
            self.known.insert(number, built);
        }
        self.known.get_mut(&number).expect("it was just put there").as_mut().map_err(|error| error.clone())
    }

    fn build(&mut self, number: PipelineNumber) -> Result<Counting, String> {
        let pipeline = self.capture.pipeline(number);
        let (air, has_lines) = match self.sources.module(number) {
            Some(air) => (air?, true),
            None => (captured(&self.client, self.capture, pipeline)?, false),
        };
        let air = self.client.counting_air(&air, &pipeline.name).map_err(|error| error.to_string())?;
        Ok(Counting { air, has_lines, name: pipeline.name.clone(), kernel: None })
    }
}

/// Work by line, summed over launches.
#[derive(Clone, Default)]
pub(super) struct Work(BTreeMap<u32, LineWork>);

impl Work {
    pub(super) fn add(&mut self, lines: &[LineWork]) {
        for work in lines {
            let sum = self.0.entry(work.line).or_insert(LineWork { line: work.line, ..LineWork::default() });
            sum.add(work, 1);
        }
    }

    /// Everything on all lines.
    pub(super) fn total(&self) -> LineWork {
        self.0.values().fold(LineWork::default(), |mut total, work| {
            total.add(work, 1);
            total
        })
    }

    /// By rising line.
    pub(super) fn lines(&self) -> impl Iterator<Item = &LineWork> {
        self.0.values()
    }
}

/// Work as `--json` prints it; fields are only added, never renamed.
#[derive(Clone, Serialize)]
pub(super) struct WorkReport {
    pub(super) kernel: String,
    pub(super) launches: u64,
    /// The sum over all lines, whose `line` is 0.
    pub(super) total: LineWork,
    /// By line of the source; empty for kernels without one.
    pub(super) lines: Vec<LineWork>,
}
