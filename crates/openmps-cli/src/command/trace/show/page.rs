//! What the page is given: tracks with slices, launches, kernels, sources, memory. `page/page.js` reads it by these names.

use std::collections::{BTreeMap, HashMap};

use openmps_engine::LineWork;
use openmps_trace::{Capture, ConstantKey, Entry, HostOp, Launch, Origin, Pipeline};
use serde::Serialize;

use super::arguments::{Argument, arguments};
use super::counters::Curve;
use super::lines::Lines;
use super::memory::Memory;
use super::preview::{Preview, Previews};
use super::source::Source;

/// A source text has at most this many bytes in the page.
pub(super) const SOURCE_BYTES_MAX: usize = 1 << 20;

/// Kinds of slices, in the order of the page's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Launch = 0,
    Op = 1,
    Copy = 2,
    Host = 3,
    Event = 4,
    /// A call of the program, in traces.
    Call = 5,
    /// Anything else in a trace.
    Other = 6,
}

/// Everything.
#[derive(Default, Serialize)]
pub(super) struct Page {
    pub(super) title: String,
    /// What is wrong with the trace.
    pub(super) notices: Vec<String>,
    /// What the trace says about itself.
    pub(super) facts: Vec<(&'static str, String)>,
    pub(super) tracks: Vec<String>,
    pub(super) names: Vec<String>,
    pub(super) texts: Vec<String>,
    pub(super) slices: Vec<Slice>,
    pub(super) launches: Vec<LaunchDetails>,
    pub(super) kernels: Vec<Kernel>,
    pub(super) sources: Vec<Source>,
    pub(super) memory: Memory,
    /// Counters besides memory.
    pub(super) counters: Vec<Curve>,
    /// Numbers of slices that belong together, by flow.
    pub(super) flows: Vec<Vec<usize>>,
    pub(super) previews: Vec<Preview>,
}

/// Track, start and end in nanoseconds, kind, name, and what belongs to it (-1 for nothing).
#[derive(Serialize)]
pub(super) struct Slice(
    pub(super) usize,
    pub(super) u64,
    pub(super) u64,
    pub(super) u8,
    pub(super) usize,
    pub(super) i64,
);

#[derive(Serialize)]
pub(super) struct LaunchDetails {
    pub(super) kernel: usize,
    pub(super) threads: [u32; 3],
    pub(super) group: [u32; 3],
    pub(super) threadgroup: Vec<u32>,
    pub(super) arguments: Vec<Argument>,
    pub(super) error: Option<String>,
    /// PyTorch's text, in traces.
    pub(super) message: String,
}

/// Line, instructions, operations on floats, loads, stores, threadgroup memory, atomics, barriers.
#[derive(Serialize)]
pub(super) struct LineRow(u32, u64, u64, u64, u64, u64, u64, u64);

impl From<&LineWork> for LineRow {
    fn from(work: &LineWork) -> Self {
        let LineWork { line, instructions, float_operations, loads, stores, threadgroup, atomics, barriers } = *work;
        Self(line, instructions, float_operations, loads, stores, threadgroup, atomics, barriers)
    }
}

#[derive(Default, Serialize)]
pub(super) struct Kernel {
    pub(super) name: String,
    /// ` {0 = …}` where there are function constants.
    pub(super) constants: String,
    pub(super) origin: String,
    pub(super) engine: String,
    /// Its source's place, -1 for none.
    pub(super) source: i64,
    /// Where it is defined there, from 1; 0 where that was not found.
    pub(super) line: usize,
    /// What its text does by line, every piece once; empty where that is not known.
    pub(super) text_work: Vec<LineRow>,
    /// What its launches did by line; empty where nobody counted.
    pub(super) work: Vec<LineRow>,
    /// Its parameters, for kernels without a source.
    pub(super) arguments: Vec<String>,
}

/// A list in which each text stands once.
#[derive(Default)]
pub(super) struct Texts {
    places: HashMap<String, usize>,
    pub(super) texts: Vec<String>,
}

impl Texts {
    pub(super) fn place(&mut self, text: &str) -> usize {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        self.places.insert(text.to_owned(), self.texts.len());
        self.texts.push(text.to_owned());
        self.texts.len() - 1
    }
}

/// The page while it is made.
struct Making<'a> {
    capture: &'a Capture,
    tracks: BTreeMap<(u8, u64), usize>,
    track_names: Vec<String>,
    names: Texts,
    texts: Texts,
    previews: Previews,
    page: Page,
}

impl Page {
    /// The page of `capture`, with previews of buffers or without.
    pub(super) fn of_capture(capture: &Capture, with_buffers: bool) -> Self {
        let mut making = Making {
            capture,
            tracks: BTreeMap::new(),
            track_names: Vec::new(),
            names: Texts::default(),
            texts: Texts::default(),
            previews: Previews::new(with_buffers),
            page: Self { title: title(capture), facts: facts(capture), ..Self::default() },
        };
        making.kernels();
        making.all_tracks();
        capture.entries().iter().for_each(|entry| making.entry(entry));
        let Making { names, texts, previews, track_names, mut page, .. } = making;
        page.tracks = track_names;
        (page.names, page.texts) = (names.texts, texts.texts);
        page.memory = Memory::of_capture(capture);
        let skipped;
        (page.previews, skipped) = previews.finish();
        page.notices = notices(capture, skipped);
        page
    }
}

impl Page {
    /// Adds what the kernels' texts do by line and, where launches were counted, what these did.
    pub(super) fn add_work(&mut self, lines: &Lines) {
        for (kernel, known) in self.kernels.iter_mut().zip(&lines.kernels) {
            kernel.text_work = known.text.iter().map(LineRow::from).collect();
            kernel.work = known.done.lines().map(LineRow::from).collect();
        }
        self.notices.extend(lines.notices.iter().cloned());
    }
}

/// The capture's name without folders.
fn title(capture: &Capture) -> String {
    let name = capture.header().name.as_str();
    name.rsplit('/').next().unwrap_or(name).to_owned()
}

fn facts(capture: &Capture) -> Vec<(&'static str, String)> {
    let header = capture.header();
    let launches = capture.launches().count();
    vec![
        ("capture", header.name.clone()),
        ("device", header.device.clone()),
        ("openmps", header.openmps_version.clone()),
        ("started", utc(header.started_unix_ms)),
        ("launches", launches.to_string()),
        ("events in all", capture.entries().len().to_string()),
    ]
}

/// A time as people write it, in UTC.
fn utc(unix_ms: u64) -> String {
    let seconds = unix_ms / 1000;
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // The civil calendar in cycles of 400 years that start in March.
    let shifted = days + 719_468;
    let (cycle, day_of_cycle) = (shifted / 146_097, shifted % 146_097);
    let year_of_cycle = (day_of_cycle - day_of_cycle / 1460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
    let day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_cycle + cycle * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02} UTC", rest / 3600, rest / 60 % 60, rest % 60)
}

fn notices(capture: &Capture, skipped: usize) -> Vec<String> {
    let mut notices = Vec::new();
    if let Some(limit) = capture.limit_reached() {
        notices.push(format!("Recording stopped at the limit of {limit} bytes."));
    } else if !capture.is_ended() {
        notices.push("The program ended inside the capture; the last events may be missing.".into());
    }
    if skipped > 0 {
        notices.push(format!("{skipped} buffer contents have no preview: the page would grow too large."));
    }
    notices
}

impl Making<'_> {
    fn kernels(&mut self) {
        let mut sources: HashMap<u32, i64> = HashMap::new();
        for pipeline in self.capture.pipelines() {
            let (source, origin) = match &pipeline.origin {
                Origin::Source { text, language_version, fast_math } => {
                    let place = *sources.entry(text.0).or_insert_with(|| {
                        let bytes = self.capture.read_start(*text, SOURCE_BYTES_MAX).unwrap_or_default();
                        self.page.sources.push(Source::new(String::from_utf8_lossy(&bytes).into_owned()));
                        i64::try_from(self.page.sources.len()).unwrap_or(i64::MAX) - 1
                    });
                    (place, format!("Metal {language_version}, {} math", if *fast_math { "fast" } else { "safe" }))
                }
                Origin::Library { .. } => (-1, "from a compiled library".into()),
            };
            let line = usize::try_from(source).ok().and_then(|place| self.page.sources[place].line_of(&pipeline.name));
            let parameter = |argument: &openmps_trace::Argument| format!("{} {}", argument.type_name, argument.name);
            self.page.kernels.push(Kernel {
                name: pipeline.name.clone(),
                constants: constants(pipeline),
                origin,
                engine: pipeline.engine.clone(),
                text_work: Vec::new(),
                work: Vec::new(),
                source,
                line: line.unwrap_or(0),
                arguments: pipeline.arguments.iter().map(parameter).collect(),
            });
        }
    }

    /// Gives every stream and every thread a track: streams first, each in order of number.
    fn all_tracks(&mut self) {
        let keys = self.capture.entries().iter().map(track_key);
        let keys: std::collections::BTreeSet<(u8, u64)> = keys.collect();
        for key in keys {
            self.tracks.insert(key, self.track_names.len());
            self.track_names.push(match key {
                (0, 0) => "default stream".into(),
                (0, stream) => format!("stream {stream}"),
                (_, thread) => format!("CPU, thread {thread}"),
            });
        }
    }

    fn entry(&mut self, entry: &Entry) {
        let track = self.tracks[&track_key(entry)];
        let (start, end, kind, name, detail) = match entry {
            Entry::Launch(launch) => {
                let name = self.capture.pipeline(launch.pipeline).name.clone();
                (launch.started_ns, launch.ended_ns, Kind::Launch, name, self.launch(launch))
            }
            Entry::Op(HostOp { name, tensors, started_ns, ended_ns, .. }) => {
                let detail = self.text(&tensors.join("\n"));
                (*started_ns, *ended_ns, Kind::Op, name.clone(), detail)
            }
            Entry::Copy(copy) => {
                let size = self.capture.size_bytes(copy.content);
                let detail = self.text(&format!("{size} bytes\nfrom {:#x}\nto {:#x}", copy.source, copy.destination));
                (copy.started_ns, copy.ended_ns, Kind::Copy, "copy".into(), detail)
            }
            Entry::Host(host) => {
                let detail = host.error.as_ref().map_or(-1, |error| self.text(error));
                (host.started_ns, host.ended_ns, Kind::Host, host.name.clone(), detail)
            }
            Entry::Signal(event) => {
                let name = format!("signal event {} = {}", event.event, event.value);
                (event.started_ns, event.ended_ns, Kind::Event, name, -1)
            }
            Entry::Wait(event) => {
                let name = format!("wait for event {} = {}", event.event, event.value);
                (event.started_ns, event.ended_ns, Kind::Event, name, -1)
            }
        };
        let name = self.names.place(&name);
        self.page.slices.push(Slice(track, start, end.max(start), kind as u8, name, detail));
    }

    fn text(&mut self, text: &str) -> i64 {
        i64::try_from(self.texts.place(text)).unwrap_or(-1)
    }

    fn launch(&mut self, launch: &Launch) -> i64 {
        let number = self.page.launches.len();
        let pipeline = self.capture.pipeline(launch.pipeline);
        self.page.launches.push(LaunchDetails {
            kernel: launch.pipeline.0 as usize,
            threads: launch.threads,
            group: launch.group,
            threadgroup: launch.threadgroup.iter().map(|(_, size)| *size).collect(),
            arguments: arguments(self.capture, launch, pipeline, &mut self.previews),
            error: launch.error.clone(),
            message: String::new(),
        });
        i64::try_from(number).unwrap_or(-1)
    }
}

/// Streams are 0, threads of the host 1.
fn track_key(entry: &Entry) -> (u8, u64) {
    match entry {
        Entry::Launch(launch) => (0, launch.stream.into()),
        Entry::Copy(copy) => (0, copy.stream.into()),
        Entry::Host(host) => (0, host.stream.into()),
        Entry::Signal(event) | Entry::Wait(event) => (0, event.stream.into()),
        Entry::Op(op) => (1, op.thread),
    }
}

fn constants(pipeline: &Pipeline) -> String {
    let constant = |constant: &openmps_trace::Constant| {
        let name = match &constant.key {
            ConstantKey::Index(index) => index.to_string(),
            ConstantKey::Name(name) => name.clone(),
        };
        format!("{name} = {}", super::preview::numbers(&constant.type_name, &constant.bytes).join(", "))
    };
    let all: Vec<String> = pipeline.constants.iter().map(constant).collect();
    if all.is_empty() { String::new() } else { format!(" {{{}}}", all.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(951_782_400_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(utc(1_798_761_599_999), "2026-12-31 23:59:59 UTC");
    }
}
