//! A Perfetto trace as a page: tracks in the order in which people read them, launches with the arguments that their message
//! tells, memory from counters, flows from event to event.
//!
//! What a launch's message tells is PyTorch's text, `aten::add:MPS:Float[2, 3] (id=K1, run=1)`; other programs' events are shown
//! by name, category and arguments.

use std::collections::{BTreeMap, HashMap};

use openmps_trace::perfetto::{Event, Left, Trace, Track, TrackKind};

use super::arguments::Argument;
use super::counters;
use super::page::{Kernel, Kind, LaunchDetails, Page, SOURCE_BYTES_MAX, Slice, Texts};
use super::source::Source;

/// A page has at most this many events: more are slow to draw, and ui.perfetto.dev takes any number.
const EVENTS_MAX: usize = 40_000;

/// What stands in place of a source that the trace does not hold.
const NO_SOURCE: &str = "from Metal source text, which this trace does not hold: OPENMPS_TRACE_SOURCE_LIMIT says up to which \
                         length traces do, and captures always do";

/// The page of `trace`, a file of this name.
pub(super) fn page(trace: &Trace, title: &str) -> Page {
    let mut making = Making {
        trace,
        start_ns: start(trace),
        places: Vec::new(),
        kernels: BTreeMap::new(),
        sources: BTreeMap::new(),
        names: Texts::default(),
        texts: Texts::default(),
        page: Page { title: title.to_owned(), facts: facts(trace), notices: notices(trace), ..Page::default() },
    };
    making.tracks();
    making.sources();
    for event in trace.events.iter().take(EVENTS_MAX) {
        making.event(event);
    }
    making.flows();
    let Making { names, texts, start_ns, mut page, .. } = making;
    (page.names, page.texts) = (names.texts, texts.texts);
    (page.memory, page.counters) = counters::curves(trace, start_ns);
    page
}

/// The first moment of the trace, from which the page counts: numbers of JavaScript are exact up to 2^53.
fn start(trace: &Trace) -> u64 {
    let event = trace.events.first().map(|event| event.begin_ns);
    let sample = trace.samples.first().map(|sample| sample.time_ns);
    event.into_iter().chain(sample).min().unwrap_or(0)
}

fn facts(trace: &Trace) -> Vec<(&'static str, String)> {
    let mut facts = vec![("kind", "Perfetto trace".to_owned())];
    facts.extend(trace.process.clone().map(|process| ("program", process)));
    facts.push(("packets", trace.packets.to_string()));
    facts.push(("slices and instants", trace.events.len().to_string()));
    facts.push(("values of counters", trace.samples.len().to_string()));
    facts
}

/// What the page does not show.
fn notices(trace: &Trace) -> Vec<String> {
    let Left { other_packets, compressed_packets, unknown_events, ends_alone, open_slices, cut_bytes } = trace.left;
    let shown = trace.events.len().min(EVENTS_MAX);
    let left_out = trace.events.len() - shown;
    let notices = [
        (left_out, format!("The first {shown} of {} events are shown; ui.perfetto.dev shows all.", trace.events.len())),
        (cut_bytes, "The file ends inside of a packet: the program was killed, or the disk was full.".into()),
        (open_slices, format!("{open_slices} slices have no end; they are drawn to the end of the trace.")),
        (ends_alone, format!("{ends_alone} slices began before the trace and are not shown.")),
        (
            other_packets + compressed_packets + unknown_events,
            format!(
                "{} packets are of kinds that this page does not show; ui.perfetto.dev does.",
                other_packets + compressed_packets + unknown_events
            ),
        ),
    ];
    notices.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect()
}

struct Making<'a> {
    trace: &'a Trace,
    start_ns: u64,
    /// The page's place of each track; none for counters and tracks without events.
    places: Vec<Option<usize>>,
    /// Places of kernels by name, source and number of the source's text.
    kernels: BTreeMap<(String, String, String), usize>,
    /// Places of source texts by their numbers in the trace.
    sources: BTreeMap<String, usize>,
    names: Texts,
    texts: Texts,
    page: Page,
}

/// What is asked for more than once.
fn argument<'a>(trace: &'a Trace, event: &Event, name: &str) -> Option<&'a str> {
    let found = event.arguments.iter().find(|(place, _)| trace.texts[*place] == name);
    found.map(|(_, value)| trace.texts[*value].as_str())
}

impl Making<'_> {
    /// Tracks with events: streams, then their queues, then threads, then the rest.
    fn tracks(&mut self) {
        let mut is_used = vec![false; self.trace.tracks.len()];
        self.trace.events.iter().take(EVENTS_MAX).for_each(|event| is_used[event.track] = true);
        let mut order: Vec<usize> = (0..is_used.len()).filter(|place| is_used[*place]).collect();
        order.sort_by_key(|place| rank(&self.trace.tracks[*place]));
        self.places = vec![None; is_used.len()];
        for place in order {
            self.places[place] = Some(self.page.tracks.len());
            let track = &self.trace.tracks[place];
            self.page.tracks.push(match (&track.kind, track.name.as_str()) {
                (TrackKind::Thread(number), "") => format!("thread {number}"),
                (TrackKind::Thread(_), name) => format!("thread {name}"),
                (_, "") => format!("track {place}"),
                (_, name) => name.to_owned(),
            });
        }
    }

    fn event(&mut self, event: &Event) {
        let Some(track) = self.places[event.track] else { return };
        let text = &self.trace.texts[event.name];
        let kind = self.kind(event, text);
        let name = self.names.place(if text.is_empty() { "(no name)" } else { text });
        let detail = if kind == Kind::Launch { self.launch(event) } else { self.detail(event) };
        let at = |time: u64| time.saturating_sub(self.start_ns);
        let (start, end) = (at(event.begin_ns), at(event.end_ns.max(event.begin_ns)));
        self.page.slices.push(Slice(track, start, end, kind as u8, name, detail));
    }

    fn kind(&self, event: &Event, name: &str) -> Kind {
        match self.trace.texts[event.category].as_str() {
            "PyTorchOperationIntervals" | "command" if argument(self.trace, event, "grid").is_some() => Kind::Launch,
            "PyTorchOperationIntervals" | "PyTorchOperationEvents" => Kind::Op,
            "PyTorchCPUFallbackIntervals" | "PyTorchCPUFallbacksEvents" => Kind::Op,
            "PyTorchCopyIntervals" | "PyTorchCopyEvents" => Kind::Copy,
            "command" if name == "copy" => Kind::Copy,
            "command" if name == "host" => Kind::Host,
            "command" => Kind::Event,
            "host" => Kind::Call,
            _ => Kind::Other,
        }
    }

    /// Category and arguments as lines.
    fn detail(&mut self, event: &Event) -> i64 {
        let texts = &self.trace.texts;
        let category = Some(texts[event.category].clone()).filter(|category| !category.is_empty());
        let line = |(name, value): &(usize, usize)| match texts[*name].as_str() {
            "message" => texts[*value].clone(),
            name => format!("{name}: {}", texts[*value]),
        };
        let lines: Vec<String> = event.arguments.iter().map(line).chain(category).collect();
        if lines.is_empty() { -1 } else { i64::try_from(self.texts.place(&lines.join("\n"))).unwrap_or(-1) }
    }

    fn launch(&mut self, event: &Event) -> i64 {
        let message = argument(self.trace, event, "message").unwrap_or_default();
        let size = |name| sizes(argument(self.trace, event, name).unwrap_or_default());
        let number = self.page.launches.len();
        let (threads, group) = (size("grid"), size("group"));
        let kernel = self.kernel(event);
        self.page.launches.push(LaunchDetails {
            kernel,
            threads,
            group,
            threadgroup: Vec::new(),
            arguments: tensors(message).into_iter().map(Argument::tensor).collect(),
            error: None,
            message: message.to_owned(),
        });
        i64::try_from(number).unwrap_or(-1)
    }

    /// The source texts, each of which stands in the first launch from it.
    fn sources(&mut self) {
        for event in &self.trace.events {
            let Some(text) = argument(self.trace, event, "source_text") else { continue };
            let number = argument(self.trace, event, "library").unwrap_or_default().to_owned();
            self.sources.entry(number).or_insert_with(|| {
                let end = text.floor_char_boundary(SOURCE_BYTES_MAX);
                self.page.sources.push(Source::new(text[..end].to_owned()));
                self.page.sources.len() - 1
            });
        }
    }

    fn kernel(&mut self, event: &Event) -> usize {
        let name = self.trace.texts[event.name].clone();
        let source = argument(self.trace, event, "source").unwrap_or_default().to_owned();
        let library = argument(self.trace, event, "library").unwrap_or_default().to_owned();
        let place = self.sources.get(&library).copied();
        let Page { kernels, sources, .. } = &mut self.page;
        *self.kernels.entry((name.clone(), source.clone(), library)).or_insert_with(|| {
            let origin = match (source.as_str(), place) {
                ("program_source", Some(_)) => "from Metal source text".to_owned(),
                ("program_source", None) => NO_SOURCE.to_owned(),
                ("", _) => String::new(),
                (file, _) => format!("from {file}"),
            };
            let line = place.and_then(|place| sources[place].line_of(&name)).unwrap_or(0);
            let source = place.and_then(|place| i64::try_from(place).ok()).unwrap_or(-1);
            kernels.push(Kernel { name, origin, source, line, ..Kernel::default() });
            kernels.len() - 1
        })
    }

    /// The events of each flow, by number.
    fn flows(&mut self) {
        let mut flows: HashMap<u64, Vec<usize>> = HashMap::new();
        let shown = self.trace.events.iter().take(EVENTS_MAX).filter(|event| self.places[event.track].is_some());
        for (number, event) in shown.enumerate() {
            for flow in &event.flows {
                flows.entry(*flow).or_default().push(number);
            }
        }
        let mut flows: Vec<Vec<usize>> = flows.into_values().filter(|events| events.len() > 1).collect();
        flows.sort_unstable();
        self.page.flows = flows;
    }
}

/// The order of tracks in the page.
fn rank(track: &Track) -> (u8, String) {
    let class = match &track.kind {
        TrackKind::Other if track.name.starts_with("mps stream") => 0,
        TrackKind::Other if track.name.starts_with("mps queue") => 1,
        TrackKind::Thread(_) => 2,
        TrackKind::Other | TrackKind::Process | TrackKind::Counter(_) => 3,
    };
    (class, track.name.clone())
}

/// `64x32x1` as numbers; what is none is 0.
fn sizes(text: &str) -> [u32; 3] {
    let mut sizes = [0; 3];
    for (size, word) in sizes.iter_mut().zip(text.split('x')) {
        *size = word.parse().unwrap_or(0);
    }
    sizes
}

/// Device and type with sizes of the tensors in a message: between the name and ` (id=`.
fn tensors(message: &str) -> Vec<(String, String)> {
    let text = message.rsplit_once(" (id=").map_or(message, |(text, _)| text);
    let starts = |place: usize| text[place..].starts_with(":MPS") || text[place..].starts_with(":CPU");
    let places: Vec<usize> = text.match_indices(':').map(|(place, _)| place).filter(|place| starts(*place)).collect();
    let ends = places.iter().skip(1).copied().chain([text.len()]);
    let split = |one: &str| one.rsplit_once(':').map(|(device, sizes)| (device.to_owned(), sizes.to_owned()));
    places.iter().zip(ends).filter_map(|(start, end)| split(&text[start + 1..end])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_of_messages_are_told_apart() {
        let pairs =
            |message| tensors(message).into_iter().map(|(device, sizes)| device + " " + &sizes).collect::<Vec<_>>();
        let message = "aten::add.Tensor:MPS:Float[64]:MPS(buf#7:1):Half[2, 3] (id=G2, run=1)";
        assert_eq!(pairs(message), ["MPS Float[64]", "MPS(buf#7:1) Half[2, 3]"]);
        assert!(pairs("aten::twice (id=K1, run=1)").is_empty() && pairs("").is_empty());
        assert_eq!(pairs("CPU Fallback::aten::x:CPU:Float[]"), ["CPU Float[]"]);
    }

    #[test]
    fn sizes_are_three_numbers() {
        assert_eq!((sizes("64x2x1"), sizes("8"), sizes("axb")), ([64, 2, 1], [8, 0, 0], [0; 3]));
    }
}
