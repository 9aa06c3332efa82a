//! A running capture: the open files, what is stored already, and the first thing that went wrong.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use openmps_engine::{ConstantValues, LanguageVersion, MathMode};
use openmps_trace::{
    Constant, ConstantKey, ContentNumber, CopyCommand, EventCommand, Header, HostCommand, Launch, MemoryEvent,
    MemoryEventKind, MemoryPool, MemoryState, Origin, Pipeline, PipelineNumber, Record, Region, WriteError, Writer,
    Written,
};

use super::CaptureError;
use super::observation::LaunchBefore;
use super::recipe::{Recipe, RecipeOrigin};
use super::snapshot::Range;
use crate::device::Device;
use crate::memory::{BlockEvent, PoolKind, existing_allocator};
use crate::observe::{HostOp, now_ns};

/// Allocator events are written together, at the latest when there are this many.
const BLOCK_EVENTS_MAX: usize = 256;

/// Where a command stands.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) stream: u32,
    pub(super) position: u64,
}

pub(super) struct Session {
    folder: PathBuf,
    writer: Writer,
    started_ns: u64,
    /// By the address of the recipe, which is kept so that the address names nothing else.
    pipelines: HashMap<usize, (Arc<Recipe>, PipelineNumber)>,
    blocks: Vec<MemoryEvent>,
    /// Why nothing is recorded any more.
    failed: Option<WriteError>,
}

/// What a capture named `name` says about itself. Calls the allocator.
pub(super) fn header(name: &str) -> Header {
    let memory = existing_allocator().map_or_else(MemoryState::default, |allocator| {
        let (high_limit_bytes, low_limit_bytes) = allocator.limits();
        MemoryState {
            current_bytes: allocator.current_allocated_bytes(),
            driver_bytes: allocator.driver_allocated_bytes(),
            recommended_max_bytes: allocator.memory_info().1,
            high_limit_bytes,
            low_limit_bytes,
        }
    });
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Header {
        name: name.into(),
        openmps_version: env!("CARGO_PKG_VERSION").into(),
        device: Device::shared().name().into(),
        started_unix_ms: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
        memory,
    }
}

impl Session {
    pub(super) fn start(folder: &Path, header: Header, limit_bytes: u64) -> Result<Self, WriteError> {
        Ok(Self {
            folder: folder.into(),
            writer: Writer::create(folder, header, limit_bytes)?,
            started_ns: now_ns(),
            pipelines: HashMap::new(),
            blocks: Vec::new(),
            failed: None,
        })
    }

    /// Nanoseconds since the capture started.
    pub(super) fn now_ns(&self) -> u64 {
        now_ns().saturating_sub(self.started_ns)
    }

    /// Runs `write` unless something failed already; its failure is remembered.
    fn write<T>(&mut self, write: impl FnOnce(&mut Self) -> Result<T, WriteError>) -> Option<T> {
        if self.failed.is_some() {
            return None;
        }
        let result = self.flush_blocks().and_then(|()| write(self));
        result.map_err(|error| self.failed = Some(error)).ok()
    }

    fn flush_blocks(&mut self) -> Result<(), WriteError> {
        if self.blocks.is_empty() {
            return Ok(());
        }
        let events = std::mem::take(&mut self.blocks);
        self.writer.append(&Record::Memory(events))
    }

    /// Stores what is at `range`.
    pub(super) fn put_memory(&mut self, range: Range) -> Option<ContentNumber> {
        let size_bytes = usize::try_from(range.size_bytes).ok()?;
        self.write(|session| {
            session.writer.put_with(size_bytes, |offset, bytes| {
                // SAFETY: memory that the running command was given, which stays valid until the command has ended.
                unsafe { range.read(offset, bytes) }
            })
        })
    }

    pub(super) fn launch(&mut self, place: Place, times: (u64, u64), before: LaunchBefore, error: Option<String>) {
        // Storing contents failed, and so does this.
        let Some(contents) = &before.contents else { return };
        let mut regions = Vec::with_capacity(contents.len());
        for ((range, is_written), content) in before.layout.regions.iter().zip(contents) {
            let written = match is_written {
                false => Written::No,
                true => match self.put_memory(*range) {
                    Some(after) => Written::After(after),
                    None => return,
                },
            };
            regions.push(Region { address: range.start, before: *content, written });
        }
        self.write(|session| {
            let pipeline = session.pipeline(&before)?;
            session.writer.append(&Record::Launch(Launch {
                stream: place.stream,
                position: place.position,
                pipeline,
                started_ns: times.0,
                ended_ns: times.1,
                threads: before.grid.threads,
                group: before.grid.group,
                buffers: before.layout.buffers,
                threadgroup: before.threadgroup,
                textures: before.layout.textures,
                samplers: before.samplers,
                regions,
                relocations: before.layout.relocations,
                tensors: before.tensors,
                error,
            }))
        });
    }

    /// The number of the launch's pipeline, which is recorded at its first launch.
    fn pipeline(&mut self, before: &LaunchBefore) -> Result<PipelineNumber, WriteError> {
        let recipe = &before.recipe;
        let key = Arc::as_ptr(recipe).addr();
        if let Some((_, number)) = self.pipelines.get(&key) {
            return Ok(*number);
        }
        let origin = match &recipe.origin {
            RecipeOrigin::Source { text, options } => Origin::Source {
                text: self.writer.put(text.as_bytes())?,
                language_version: language_version(options.language_version).into(),
                fast_math: options.math_mode == MathMode::Fast,
            },
            RecipeOrigin::Library { module } => Origin::Library { bitcode: self.writer.put(module.bitcode())? },
        };
        let number = {
            let air = self.writer.put(recipe.air.bitcode())?;
            self.writer.pipeline(Pipeline {
                name: before.name.clone(),
                origin,
                constants: constants(&recipe.constants),
                air,
                engine: recipe.engine.into(),
                arguments: before.arguments.clone(),
            })?
        };
        self.pipelines.insert(key, (Arc::clone(recipe), number));
        Ok(number)
    }

    pub(super) fn host(&mut self, place: Place, times: (u64, u64), name: String, error: Option<String>) {
        let Place { stream, position } = place;
        let (started_ns, ended_ns) = times;
        let host = HostCommand { stream, position, started_ns, ended_ns, name, error };
        self.write(|session| session.writer.append(&Record::Host(host)));
    }

    pub(super) fn copy(&mut self, place: Place, times: (u64, u64), source: u64, destination: Range) {
        let Place { stream, position } = place;
        let (started_ns, ended_ns) = times;
        let Some(content) = self.put_memory(destination) else { return };
        let destination = destination.start;
        let copy = CopyCommand { stream, position, started_ns, ended_ns, source, destination, content };
        self.write(|session| session.writer.append(&Record::Copy(copy)));
    }

    pub(super) fn event(&mut self, place: Place, times: (u64, u64), (event, value): (u64, u64), is_signal: bool) {
        let Place { stream, position } = place;
        let command = EventCommand { stream, position, started_ns: times.0, ended_ns: times.1, event, value };
        let record = if is_signal { Record::Signal(command) } else { Record::Wait(command) };
        self.write(|session| session.writer.append(&record));
    }

    pub(super) fn host_op(&mut self, op: &HostOp<'_>) {
        let since = |time_ns: u64| time_ns.saturating_sub(self.started_ns);
        let record = Record::Op(openmps_trace::HostOp {
            name: op.name.into(),
            tensors: op.tensors.lines().map(str::to_owned).collect(),
            thread: thread_number(),
            started_ns: since(op.started_ns),
            ended_ns: since(op.ended_ns),
        });
        self.write(|session| session.writer.append(&record));
    }

    pub(super) fn block(&mut self, event: &BlockEvent) {
        let kind = if event.is_handed_out { MemoryEventKind::Allocate } else { MemoryEventKind::Free };
        let pool = match event.pool {
            PoolKind::Small => MemoryPool::Small,
            PoolKind::Large => MemoryPool::Large,
            PoolKind::Scalar => MemoryPool::Scalar,
        };
        let time_ns = self.now_ns();
        let BlockEvent { address, size_bytes, stream, current_bytes, driver_bytes, .. } = *event;
        let event =
            MemoryEvent { time_ns, kind, address, size_bytes, pool, stream: stream.0, current_bytes, driver_bytes };
        self.blocks.push(event);
        if self.blocks.len() >= BLOCK_EVENTS_MAX {
            self.write(|_| Ok(()));
        }
    }

    /// Ends the capture, and says whether it is whole.
    pub(super) fn finish(mut self) -> Result<(), CaptureError> {
        let time_ns = self.now_ns();
        self.write(|session| session.writer.append(&Record::End { time_ns }));
        let reason = match self.failed {
            None => return Ok(()),
            Some(WriteError::Limit { limit_bytes }) => {
                format!("recording stopped at the limit of {limit_bytes} bytes, OPENMPS_CAPTURE_LIMIT sets another")
            }
            Some(error @ (WriteError::Io(_) | WriteError::TooMany)) => error.to_string(),
        };
        Err(CaptureError::Write { file: self.folder.display().to_string(), reason })
    }
}

/// A number for the calling thread, from 1.
fn thread_number() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static LAST: AtomicU64 = AtomicU64::new(0);
    thread_local! {
        static NUMBER: u64 = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    }
    NUMBER.with(|number| *number)
}

fn language_version(version: LanguageVersion) -> &'static str {
    match version {
        LanguageVersion::Metal3_1 => "3.1",
        LanguageVersion::Metal3_2 => "3.2",
        LanguageVersion::Metal4_0 => "4.0",
    }
}

fn constants(values: &ConstantValues) -> Vec<Constant> {
    let constant = |key, value: &openmps_engine::ConstantValue| Constant {
        key,
        type_name: value.ty().to_string(),
        bytes: value.bytes().to_vec(),
    };
    let by_index = values.by_index().map(|(index, value)| constant(ConstantKey::Index(index), value));
    let by_name = values.by_name().map(|(name, value)| constant(ConstantKey::Name(name.into()), value));
    by_index.chain(by_name).collect()
}
