//! The modules of a capture's kernels as text, for questions that replay has about them.

use std::collections::HashMap;

use openmps_compiler::Client;
use openmps_engine::{AirLoader as _, VerifiedAir};
use openmps_trace::{Capture, PipelineNumber};

use super::operations;
use crate::compiler::client;

/// A module of AIR has at most this many bytes.
const AIR_BYTES_MAX: u64 = 1 << 30;

/// What is known of one kernel's module.
pub(super) struct KernelModule {
    text: String,
    kernel: String,
}

impl KernelModule {
    /// Whether the kernel has atomic operations.
    pub(super) fn has_atomics(&self) -> bool {
        self.text.contains("@air.atomic.")
    }

    /// Floating-point operations of one thread, where that can be counted.
    pub(super) fn operations_per_thread(&self) -> Option<u64> {
        operations::per_thread(&self.text, &self.kernel)
    }
}

/// Modules by pipeline, looked at when first asked for.
pub(super) struct Modules<'a> {
    capture: &'a Capture,
    client: Option<Client>,
    known: HashMap<PipelineNumber, Option<KernelModule>>,
}

impl<'a> Modules<'a> {
    pub(super) fn new(capture: &'a Capture) -> Self {
        Self { capture, client: None, known: HashMap::new() }
    }

    /// The module of the pipeline, reduced to its kernel; none where it cannot be read.
    pub(super) fn of(&mut self, number: PipelineNumber) -> Option<&KernelModule> {
        if !self.known.contains_key(&number) {
            let client = self.client.get_or_insert_with(client);
            let pipeline = self.capture.pipeline(number);
            let module = kernel_module(client, self.capture, number);
            let text = module.and_then(|module| client.air_text(&module).ok());
            let module = text.map(|text| KernelModule { text, kernel: pipeline.name.clone() });
            self.known.insert(number, module);
        }
        self.known.get(&number)?.as_ref()
    }
}

/// The module of a pipeline with that kernel alone.
pub(super) fn kernel_module(client: &Client, capture: &Capture, number: PipelineNumber) -> Option<VerifiedAir> {
    let pipeline = capture.pipeline(number);
    let bitcode = capture.read(pipeline.air, AIR_BYTES_MAX).ok()?;
    let air = client.load(&bitcode).ok()?.air;
    client.split_air(&air, std::slice::from_ref(&pipeline.name)).ok()?.pop()
}
