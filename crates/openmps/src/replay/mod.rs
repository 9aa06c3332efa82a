//! Running launches of a capture again: the same kernel over the same bytes, and whether the same bytes come out.
//!
//! Each launch stands for itself, since a capture holds the contents of all memory that it could reach. Regions get new memory
//! at the same distance from a multiple of 256 bytes; addresses in them are moved along. Kernels are code: running a launch is
//! running a program of whoever made the capture.

mod bind;
mod compare;
mod counting;

use std::collections::HashMap;
use std::time::{Duration, Instant};

pub use compare::Difference;
pub use counting::CountingKernel;
use openmps_trace::{Binding, Capture, Launch, PipelineNumber, ReadError, Written};
use thiserror::Error;

use crate::buffer::Buffer;
use crate::device::Device;
use crate::kernel::Kernel;
use crate::library::LibraryError;
use crate::memory::MemoryError;
use crate::stream::{Stream, StreamError};
use openmps_engine::{Bindings, Grid};

/// A region starts at its old distance from a multiple of this many bytes.
const PHASE_BYTES: u64 = 256;

/// Why a launch cannot be run again.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// Its contents cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its kernel cannot be built or launched.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// No memory for it.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// What it binds makes no sense to this version.
    #[error("{0}")]
    Binding(String),
}

/// How a launch ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How long the engine took, as the caller of a stream sees it.
    pub time: Duration,
    /// The error that it left behind.
    pub error: Option<String>,
}

/// The kernels of a capture, built when first needed.
pub struct Replayer<'a> {
    capture: &'a Capture,
    kernels: HashMap<PipelineNumber, Kernel>,
    stream: Stream,
}

impl<'a> Replayer<'a> {
    /// For the launches of `capture`, on the process's engine.
    #[must_use]
    pub fn new(capture: &'a Capture) -> Self {
        Self { capture, kernels: HashMap::new(), stream: Stream::current() }
    }

    /// The kernel of a launch, from the module in the capture.
    ///
    /// # Errors
    /// [`ReplayError::Read`], [`ReplayError::Library`].
    pub fn kernel(&mut self, number: PipelineNumber) -> Result<Kernel, ReplayError> {
        if let Some(kernel) = self.kernels.get(&number) {
            return Ok(kernel.clone());
        }
        let pipeline = self.capture.pipeline(number);
        let bitcode = self.capture.read(pipeline.air, Device::shared().max_buffer_length_bytes())?;
        let kernel = Kernel::from_air(&bitcode, &pipeline.name)?;
        self.kernels.insert(number, kernel.clone());
        Ok(kernel)
    }

    /// Runs launches of the pipeline with `kernel` from now on, another build of the same kernel.
    pub fn replace_kernel(&mut self, number: PipelineNumber, kernel: Kernel) {
        self.kernels.insert(number, kernel);
    }

    /// Gets `launch` of the capture ready to run, as often as wanted.
    ///
    /// # Errors
    /// [`ReplayError`].
    pub fn prepare(&mut self, launch: &'a Launch) -> Result<Replay<'a>, ReplayError> {
        let kernel = self.kernel(launch.pipeline)?;
        let mut regions = Vec::with_capacity(launch.regions.len());
        for region in &launch.regions {
            let before = self.capture.read(region.before, Device::shared().max_buffer_length_bytes())?;
            let phase = usize::try_from(region.address % PHASE_BYTES).unwrap_or(0);
            let buffer = Buffer::new(before.len() + phase)?;
            regions.push(Memory { buffer, phase, before });
        }
        let mut replay = Replay {
            capture: self.capture,
            launch,
            kernel,
            stream: self.stream,
            regions,
            bindings: Bindings::default(),
        };
        replay.bindings = replay.bind()?;
        Ok(replay)
    }
}

/// The new memory of one region.
struct Memory {
    buffer: Buffer,
    /// The region's first byte in the buffer.
    phase: usize,
    /// What the region holds before the launch, with addresses of the new memory once they are moved.
    before: Vec<u8>,
}

impl Memory {
    fn address(&self) -> u64 {
        (self.buffer.contents().as_ptr().expose_provenance() + self.phase) as u64
    }
}

/// A launch, ready to run.
pub struct Replay<'a> {
    capture: &'a Capture,
    launch: &'a Launch,
    kernel: Kernel,
    stream: Stream,
    regions: Vec<Memory>,
    bindings: Bindings,
}

impl Replay<'_> {
    /// The kernel.
    #[must_use]
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Restores the contents before the launch, runs it and waits.
    ///
    /// # Errors
    /// [`ReplayError::Library`] when it cannot be launched; what it does wrong while it runs is part of the outcome.
    pub fn run(&mut self) -> Result<Outcome, ReplayError> {
        let (kernel, bindings) = (self.kernel.clone(), self.bindings.clone());
        self.run_as(&kernel, bindings, None)
    }

    /// Runs `kernel` over the contents before the launch; `more` is memory that it reaches besides.
    fn run_as(&mut self, kernel: &Kernel, bindings: Bindings, more: Option<&Buffer>) -> Result<Outcome, ReplayError> {
        for memory in &mut self.regions {
            memory.buffer.write(memory.phase, &memory.before);
        }
        let buffers = self.regions.iter().map(|memory| &memory.buffer).chain(more);
        let retained: Vec<*const u8> = buffers.map(|buffer| buffer.contents().as_ptr().cast_const()).collect();
        let grid = Grid { threads: self.launch.threads, group: self.launch.group };
        let started = Instant::now();
        kernel.encode(self.stream, bindings, &retained, grid)?;
        let result = self.stream.synchronize();
        let time = started.elapsed();
        Ok(Outcome { time, error: result.err().map(|error: StreamError| error.message().to_owned()) })
    }

    /// Bytes that the launch can read and bytes that it can write, each once: the tensors where the caller said what they are,
    /// else all that is bound.
    #[must_use]
    pub fn bytes_reached(&self) -> (u64, u64) {
        let sizes: Vec<u64> = (0..).zip(&self.launch.regions).map(|(number, _)| self.bytes_used(number)).collect();
        let written = |(region, size): (&openmps_trace::Region, &u64)| match region.written {
            Written::After(_) => *size,
            Written::No => 0,
        };
        (sizes.iter().sum(), self.launch.regions.iter().zip(&sizes).map(written).sum())
    }

    /// How far the launch's tensors reach into a region.
    fn bytes_used(&self, number: u32) -> u64 {
        let region = &self.launch.regions[number as usize];
        let ends = self.launch.buffers.iter().filter_map(|(index, binding)| match binding {
            Binding::Memory(place) if place.region == number => {
                let tensor = self.launch.tensors.iter().find(|(slot, _)| slot == index);
                let size = tensor.and_then(|(_, tensor)| compare::span_bytes(tensor)).unwrap_or(place.size_bytes);
                Some(place.offset_bytes + size.min(place.size_bytes))
            }
            Binding::Memory(_) | Binding::Bytes(_) | Binding::Null => None,
        });
        ends.max().unwrap_or_else(|| self.capture.size_bytes(region.before))
    }

    /// Where the memory differs from what the capture has after the launch; empty where nothing does.
    ///
    /// # Errors
    /// [`ReplayError::Read`].
    pub fn differences(&self) -> Result<Vec<Difference>, ReplayError> {
        let mut differences = Vec::new();
        for (number, region) in self.launch.regions.iter().enumerate() {
            let Written::After(after) = region.written else { continue };
            let expected = self.capture.read(after, Device::shared().max_buffer_length_bytes())?;
            let found = self.contents(number);
            differences.extend(compare::compare(self.launch, number, &expected, &found));
        }
        Ok(differences)
    }

    /// What the region with this number holds, with addresses as the capture has them.
    fn contents(&self, number: usize) -> Vec<u8> {
        let memory = &self.regions[number];
        let mut bytes = memory.buffer.read(memory.phase, memory.before.len());
        for relocation in &self.launch.relocations {
            if relocation.holder == openmps_trace::Holder::Region(u32::try_from(number).unwrap_or(u32::MAX)) {
                let target = &self.launch.regions[relocation.region as usize];
                let new = self.regions[relocation.region as usize].address() + relocation.target_bytes;
                let old = target.address + relocation.target_bytes;
                bind::replace_word(&mut bytes, relocation.offset_bytes, new, old);
            }
        }
        bytes
    }

    /// Moves addresses to the new memory and binds everything.
    fn bind(&mut self) -> Result<Bindings, ReplayError> {
        let addresses: Vec<u64> = self.regions.iter().map(Memory::address).collect();
        let mut inline: HashMap<u32, Vec<u8>> = HashMap::new();
        for (index, binding) in &self.launch.buffers {
            if let Binding::Bytes(bytes) = binding {
                inline.insert(*index, bytes.clone());
            }
        }
        for relocation in &self.launch.relocations {
            let old = self.launch.regions[relocation.region as usize].address + relocation.target_bytes;
            let new = addresses[relocation.region as usize] + relocation.target_bytes;
            let bytes = match relocation.holder {
                openmps_trace::Holder::Region(number) => Some(&mut self.regions[number as usize].before),
                openmps_trace::Holder::Bytes(index) => inline.get_mut(&index),
            };
            if let Some(bytes) = bytes {
                bind::replace_word(bytes, relocation.offset_bytes, old, new);
            }
        }
        bind::bindings(self.launch, &addresses, &mut inline).map_err(ReplayError::Binding)
    }
}
