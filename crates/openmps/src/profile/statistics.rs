//! What has run how often and for how long: ids, run counts and times, as PyTorch's profiler keeps them.
//!
//! Graphs (operators of ATen) are told apart by name and tensors, kernels by pipeline, fallbacks by name; each keeps its id
//! for the life of the process. Copies are counted by direction.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use super::names::{self, NameId};
use super::tensor;

/// What an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An operator of ATen, which is a graph or a kernel of Apple's on a Mac.
    Graph,
    /// A Metal kernel.
    Kernel,
    /// A copy of a tensor.
    Copy,
    /// An operator that the MPS backend lacks.
    Fallback,
}

/// One graph, kernel or fallback.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    /// From 1, counted per kind.
    pub(super) id: u64,
    pub(super) name: NameId,
    /// Name and tensors, of the last run for kernels and fallbacks.
    pub(super) key: String,
    pub(super) runs: u64,
    pub(super) gpu_ms: f64,
    pub(super) cpu_ms: f64,
    /// Bytes of the last run's tensors.
    pub(super) overhead_bytes: u64,
    pub(super) total_overhead_bytes: u64,
}

/// The direction of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    MpsToMps,
    MpsToCpu,
    CpuToMps,
}

/// Copies of one direction.
#[derive(Clone, Debug, Default)]
pub(super) struct CopyStatistics {
    pub(super) count: u64,
    pub(super) bytes: u64,
    pub(super) gpu_ms: f64,
    pub(super) cpu_ms: f64,
    pub(super) scalars: u64,
    pub(super) scalars_gpu_ms: f64,
    pub(super) blocking: u64,
    pub(super) memcpy: u64,
}

/// One copy.
#[derive(Clone, Copy, Debug)]
pub struct CopyShape {
    /// Bytes that are copied.
    pub bytes: u64,
    /// Whether the caller waits.
    pub is_blocking: bool,
    /// Whether a blit encoder does it on a Mac.
    pub is_blit: bool,
}

/// Everything that is counted.
#[derive(Debug, Default)]
pub(super) struct Statistics {
    entries: Vec<Entry>,
    by_key: HashMap<Box<[u64]>, usize>,
    /// Scratch for looking up.
    lookup: Vec<u64>,
    pub(super) graphs: u64,
    pub(super) kernels: u64,
    fallbacks: u64,
    /// Copies that a trace has numbered.
    copy_ids: u64,
    /// In the order of [`Direction`].
    pub(super) copies: [CopyStatistics; 3],
}

/// Copies up to this size are scalars (PyTorch compares with `sizeof(int64_t)`).
const SCALAR_BYTES_MAX: u64 = 8;

static STATISTICS: LazyLock<Mutex<Statistics>> = LazyLock::new(Mutex::default);

pub(super) fn lock() -> MutexGuard<'static, Statistics> {
    STATISTICS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Statistics {
    /// Counts a run of what is no copy; returns where its entry is.
    pub(super) fn begin(&mut self, kind: Kind, name: NameId, words: &[u64]) -> usize {
        self.lookup.clear();
        self.lookup.push(u64::from(kind == Kind::Graph) << 32 | u64::from(name.0));
        if kind == Kind::Graph {
            self.lookup.extend_from_slice(words);
        }
        let index = match self.by_key.get(self.lookup.as_slice()) {
            Some(&index) => index,
            None => self.add(kind, name, words),
        };
        let entry = &mut self.entries[index];
        entry.runs += 1;
        if kind != Kind::Graph {
            entry.key = tensor::key(&names::get(name).text, words);
        }
        if kind == Kind::Fallback {
            entry.overhead_bytes = tensor::tensors(words).map(|tensor| tensor.bytes()).sum();
            entry.total_overhead_bytes += entry.overhead_bytes;
        }
        index
    }

    fn add(&mut self, kind: Kind, name: NameId, words: &[u64]) -> usize {
        let counter = match kind {
            Kind::Graph => &mut self.graphs,
            Kind::Kernel => &mut self.kernels,
            Kind::Fallback | Kind::Copy => &mut self.fallbacks,
        };
        *counter += 1;
        let id = *counter;
        let key = tensor::key(&names::get(name).text, words);
        let index = self.entries.len();
        self.by_key.insert(self.lookup.as_slice().into(), index);
        self.entries.push(Entry {
            kind,
            id,
            name,
            key,
            runs: 0,
            gpu_ms: 0.0,
            cpu_ms: 0.0,
            overhead_bytes: 0,
            total_overhead_bytes: 0,
        });
        index
    }

    /// The number of the next copy in a trace.
    pub(super) fn next_copy(&mut self) -> u64 {
        self.copy_ids += 1;
        self.copy_ids
    }

    pub(super) fn entry(&self, index: usize) -> &Entry {
        &self.entries[index]
    }

    /// The entries of the kinds that `is_wanted` picks.
    pub(super) fn entries(&self, is_wanted: impl Fn(Kind) -> bool) -> Vec<&Entry> {
        self.entries.iter().filter(|entry| is_wanted(entry.kind)).collect()
    }

    pub(super) fn end(&mut self, index: usize, gpu_ms: f64, cpu_ms: f64) {
        let entry = &mut self.entries[index];
        entry.gpu_ms += gpu_ms;
        entry.cpu_ms += cpu_ms;
    }

    pub(super) fn end_copy(&mut self, words: &[u64], copy: CopyShape, gpu_ms: f64, cpu_ms: f64) {
        let direction = direction(words);
        let statistics = &mut self.copies[match direction {
            Direction::MpsToMps => 0,
            Direction::MpsToCpu => 1,
            Direction::CpuToMps => 2,
        }];
        statistics.count += 1;
        statistics.bytes += copy.bytes;
        statistics.gpu_ms += gpu_ms;
        statistics.cpu_ms += cpu_ms;
        if copy.bytes <= SCALAR_BYTES_MAX {
            statistics.scalars += 1;
            statistics.scalars_gpu_ms += gpu_ms;
        }
        statistics.blocking += u64::from(copy.is_blocking);
        statistics.memcpy += u64::from(!copy.is_blit);
    }
}

/// The direction of a copy whose tensors are source and destination.
fn direction(words: &[u64]) -> Direction {
    let mut sides = tensor::tensors(words).map(|tensor| tensor.is_mps());
    match (sides.next(), sides.next()) {
        (Some(false), _) => Direction::CpuToMps,
        (_, Some(false)) => Direction::MpsToCpu,
        _ => Direction::MpsToMps,
    }
}
