//! The exported function around a split one, as LLVM IR text: for each state a loop over the steps of the threadgroup.
//!
//! When every state has one follower, all steps go the same way and the loops stand one after another; where they are known to go the
//! same way anyhow, the last step of a state tells which is next. Else each step's word
//! in its frame says where it waits: a state's loop passes over the others. The word is [`DONE`], or the state's code (twice its
//! number) and in bit 0 the parity of the round. A round ends when every live step has run once; so long as all of them wait
//! at one barrier, the loop that brought them there knows where to go on, and otherwise a search does.

use std::fmt::Write as _;

use super::state::{Followers, code};
use super::{DONE, STEP, SUBNORMALS, Split};
use crate::abi::{CONTEXT_BYTES, KERNEL_SYMBOL, SIMD_WIDTH, offset};

/// What a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Steps {
    /// A thread; the function's parameters are context, linear index, position in the threadgroup (three words).
    Threads,
    /// Up to 32 threads of one row; the function's parameters are context, the segment's number, and the position of its first
    /// thread in the threadgroup (three words).
    RowSegments,
    /// 32 threads of one plane in the order of the linear index; the function's parameters are context, the SIMD-group's number, how many
    /// threads of the plane its first one is behind the plane's start, 0, and the plane.
    PlaneSegments,
    /// The same where all threads are one plane.
    Simdgroups,
}

/// Writes the exported function over the split function that is in the module.
pub(crate) fn text(split: &Split, steps: Steps) -> String {
    let mut driver = Driver { text: String::new(), split, steps };
    driver.write();
    driver.text
}

struct Driver<'a> {
    text: String,
    split: &'a Split,
    steps: Steps,
}

/// `writeln!` into a `String` cannot fail.
macro_rules! line {
    ($driver:expr, $($argument:tt)*) => {{
        let _ = writeln!($driver.text, $($argument)*);
    }};
}

impl Driver<'_> {
    fn write(&mut self) {
        line!(self, "declare i32 @{STEP}(ptr, i32, i32, i32, i32, ptr, i32)");
        let (key, value) = SUBNORMALS;
        line!(
            self,
            "define void @{KERNEL_SYMBOL}(ptr dereferenceable({CONTEXT_BYTES}) %context) nounwind \"{key}\"=\"{value}\" {{"
        );
        self.entry();
        for (state, followers) in self.split.followers.iter().enumerate() {
            match self.split.word_offset {
                None => self.plain_state(state, followers),
                Some(word) => self.guarded_state(state, word),
            }
        }
        if let Some(word) = self.split.word_offset {
            self.search(word);
        }
        line!(self, "done:\n  ret void\n}}");
    }

    fn entry(&mut self) {
        line!(self, "entry:");
        line!(self, "  %frames.at = getelementptr i8, ptr %context, i64 {}", offset::FRAMES);
        line!(self, "  %frames = load ptr, ptr %frames.at");
        // As if each plane were one row.
        let is_flattened = matches!(self.steps, Steps::PlaneSegments | Steps::Simdgroups);
        let name = if is_flattened { "whole" } else { "size" };
        for (number, axis) in (0..).zip(["x", "y", "z"]) {
            line!(self, "  %{name}.{axis}.at = getelementptr i8, ptr %context, i64 {}", offset::SIZE + 4 * number);
            line!(self, "  %{name}.{axis} = load i32, ptr %{name}.{axis}.at");
        }
        if is_flattened {
            let (times, planes) = if self.steps == Steps::Simdgroups { ("%whole.z", "1") } else { ("1", "%whole.z") };
            line!(self, "  %whole.xy = mul nuw i32 %whole.x, %whole.y");
            line!(self, "  %size.x = mul nuw i32 %whole.xy, {times}");
            line!(self, "  %size.y = add i32 1, 0\n  %size.z = add i32 {planes}, 0");
        }
        line!(self, "  %size.xy = mul nuw i32 %size.x, %size.y");
        line!(self, "  %threads = mul nuw i32 %size.xy, %size.z");
        match self.steps {
            Steps::Threads => {
                line!(self, "  %steps = add i32 %threads, 0");
                line!(self, "  %row.steps = add i32 %size.x, 0");
            }
            Steps::RowSegments | Steps::PlaneSegments | Steps::Simdgroups => {
                line!(self, "  %rounded = add nuw i32 %size.x, {}", SIMD_WIDTH - 1);
                line!(self, "  %row.steps = lshr i32 %rounded, {}", SIMD_WIDTH.trailing_zeros());
                line!(self, "  %segments.y = mul nuw i32 %row.steps, %size.y");
                line!(self, "  %steps = mul nuw i32 %segments.y, %size.z");
            }
        }
        line!(self, "  br label %state.0");
    }

    /// How many threads of a row a step has.
    fn row_threads(&self) -> usize {
        match self.steps {
            Steps::Threads => 1,
            Steps::RowSegments | Steps::PlaneSegments | Steps::Simdgroups => SIMD_WIDTH,
        }
    }

    /// Loops over z, y and x in block `state.<state>`, of which the innermost begins: block `loop.<state>`, which `latch` repeats.
    /// `carried` are values of the steps, by type, name and what they start with.
    fn begin_loops(&mut self, state: usize, latch: &str, carried: &[(&str, &str, String)]) {
        let step = ("i32", "step", "0".to_owned());
        let levels = [("z", format!("z.end.{state}")), ("y", format!("y.end.{state}")), ("x", latch.to_owned())];
        let mut before = format!("state.{state}");
        for (axis, end) in levels {
            let is_inner = axis == "x";
            let block = if is_inner { format!("loop.{state}") } else { format!("{axis}.loop.{state}") };
            line!(self, "  br label %{block}\n{block}:");
            line!(self, "  %{axis}.{state} = phi i32 [ 0, %{before} ], [ %{axis}.{state}.next, %{end} ]");
            // The step is counted by rows.
            for (ty, name, first) in (!is_inner).then_some(&step).into_iter().chain(carried) {
                let own = if is_inner { format!("{name}.{state}") } else { format!("{name}.{state}.in.{axis}") };
                let outer = match axis {
                    "z" => first.clone(),
                    "y" => format!("%{name}.{state}.in.z"),
                    _ => format!("%{name}.{state}.in.y"),
                };
                line!(self, "  %{own} = phi {ty} [ {outer}, %{before} ], [ %{name}.{state}.next, %{end} ]");
            }
            before = block;
        }
        let in_row = match self.steps {
            Steps::Threads => format!("add i32 %x.{state}, 0"),
            Steps::RowSegments | Steps::PlaneSegments | Steps::Simdgroups => {
                format!("lshr i32 %x.{state}, {}", SIMD_WIDTH.trailing_zeros())
            }
        };
        line!(self, "  %segment.{state} = {in_row}");
        line!(self, "  %step.{state} = add nuw i32 %step.{state}.in.y, %segment.{state}");
    }

    /// The address of the step's frame.
    fn frame(&mut self, state: usize) {
        let bytes = self.split.frame_bytes;
        line!(self, "  %step.{state}.long = zext i32 %step.{state} to i64");
        line!(self, "  %offset.{state} = mul nuw i64 %step.{state}.long, {bytes}");
        line!(self, "  %frame.{state} = getelementptr inbounds i8, ptr %frames, i64 %offset.{state}");
    }

    /// Calls the step of the loop's counters in `state`.
    fn call(&mut self, state: usize) {
        let position = format!("i32 %x.{state}, i32 %y.{state}, i32 %z.{state}");
        let rest = format!("ptr %frame.{state}, i32 {state}");
        line!(self, "  %code.{state} = call i32 @{STEP}(ptr %context, i32 %step.{state}, {position}, {rest})");
    }

    /// Ends the loops over the steps and goes to `next`.
    fn end_loops(&mut self, state: usize, next: &str) {
        let block = |axis: &str| if axis == "x" { format!("loop.{state}") } else { format!("{axis}.loop.{state}") };
        let ends = [("x", self.row_threads(), "y.end"), ("y", 1, "z.end"), ("z", 1, "")];
        for (axis, threads, end) in ends {
            let behind = if end.is_empty() { next.to_owned() } else { format!("{end}.{state}") };
            line!(self, "  %{axis}.{state}.next = add nuw i32 %{axis}.{state}, {threads}");
            line!(self, "  %more.{axis}.{state} = icmp ult i32 %{axis}.{state}.next, %size.{axis}");
            line!(self, "  br i1 %more.{axis}.{state}, label %{}, label %{behind}", block(axis));
            if !end.is_empty() {
                line!(self, "{behind}:");
            }
            if axis == "x" {
                line!(self, "  %step.{state}.next = add nuw i32 %step.{state}.in.y, %row.steps");
            }
        }
    }

    /// A state that all steps reach and leave together.
    fn plain_state(&mut self, state: usize, followers: &Followers) {
        line!(self, "state.{state}:");
        self.begin_loops(state, &format!("loop.{state}"), &[]);
        self.frame(state);
        self.call(state);
        if followers.count() < 2 {
            let next = followers.states.first().map_or("done".to_owned(), |next| format!("state.{next}"));
            self.end_loops(state, &next);
            return;
        }
        self.end_loops(state, &format!("go.{state}"));
        line!(self, "go.{state}:\n  %goes.{state} = lshr i32 %code.{state}, 1");
        self.dispatch(&format!("%goes.{state}"), &followers.states);
    }

    /// A state that some steps may have passed by. State 0 comes first and has all of them.
    fn guarded_state(&mut self, state: usize, word: u64) {
        line!(self, "state.{state}:");
        if state > 0 {
            self.round_phi(state);
            line!(self, "  %mine.{state} = or i32 %round.{state}, {}", code(state));
            line!(self, "  %next.{state} = xor i32 %round.{state}, 1");
        } else {
            line!(self, "  %round.0 = add i32 0, 0\n  %next.0 = add i32 0, 1");
        }
        let carried = [("i32", "meet", DONE.to_string()), ("i1", "mixed", "false".to_owned())];
        self.begin_loops(state, &format!("latch.{state}"), &carried);
        self.frame(state);
        line!(self, "  %word.{state} = getelementptr inbounds i8, ptr %frame.{state}, i64 {word}");
        if state > 0 {
            line!(self, "  %at.{state} = load i32, ptr %word.{state}");
            line!(self, "  %runs.{state} = icmp eq i32 %at.{state}, %mine.{state}");
            line!(self, "  br i1 %runs.{state}, label %run.{state}, label %latch.{state}\nrun.{state}:");
        } else {
            line!(self, "  br label %run.0\nrun.0:");
        }
        self.call(state);
        line!(self, "  %arrived.{state} = or i32 %code.{state}, %next.{state}");
        line!(self, "  store i32 %arrived.{state}, ptr %word.{state}");
        line!(self, "  br label %latch.{state}\nlatch.{state}:");
        let skipped = |value: &str| if state > 0 { format!(", [ {value}, %loop.{state} ]") } else { String::new() };
        let (at, yes) = (skipped(&format!("%at.{state}")), skipped("true"));
        line!(self, "  %now.{state} = phi i32 [ %arrived.{state}, %run.{state} ]{at}");
        line!(self, "  %skipped.{state} = phi i1 [ false, %run.{state} ]{yes}");
        self.meet(state);
        self.end_loops(state, &format!("reached.{state}"));
        line!(self, "reached.{state}:");
        line!(self, "  br i1 %mixed.{state}.next, label %search, label %go.{state}\ngo.{state}:");
        line!(self, "  %goes.{state} = lshr i32 %meet.{state}.next, 1");
        self.dispatch(&format!("%goes.{state}"), &self.split.followers[state].states);
    }

    /// Where live steps wait, and whether they wait at several places. One that was passed by counts as elsewhere: so this
    /// state's followers are all that can come next where nothing is mixed.
    fn meet(&mut self, state: usize) {
        line!(self, "  %ended.{state} = icmp eq i32 %now.{state}, {DONE}");
        line!(self, "  %none.{state} = icmp eq i32 %meet.{state}, {DONE}");
        line!(self, "  %known.{state} = select i1 %none.{state}, i32 %now.{state}, i32 %meet.{state}");
        line!(self, "  %meet.{state}.next = select i1 %ended.{state}, i32 %meet.{state}, i32 %known.{state}");
        line!(self, "  %other.{state} = icmp ne i32 %known.{state}, %now.{state}");
        line!(self, "  %lives.{state} = xor i1 %ended.{state}, true");
        line!(self, "  %apart.{state} = or i1 %other.{state}, %skipped.{state}");
        line!(self, "  %differs.{state} = and i1 %apart.{state}, %lives.{state}");
        line!(self, "  %mixed.{state}.next = or i1 %mixed.{state}, %differs.{state}");
    }

    /// Goes to the state whose number is `value`, one of `states`, else to the end.
    fn dispatch(&mut self, value: &str, states: &[usize]) {
        let cases: Vec<String> = states.iter().map(|next| format!("i32 {next}, label %state.{next}")).collect();
        line!(self, "  switch i32 {value}, label %done [ {} ]", cases.join(" "));
    }

    /// The parity of the round that `state` is entered in: by states whose steps all wait there, or by the search.
    fn round_phi(&mut self, state: usize) {
        let from = |other: usize| format!("[ %next.{other}, %go.{other} ]");
        let followers = self.split.followers.iter().enumerate();
        let mut incoming: Vec<String> = followers
            .filter(|(_, followers)| followers.states.contains(&state))
            .map(|(other, _)| from(other))
            .collect();
        incoming.push("[ %round, %found ]".to_owned());
        line!(self, "  %round.{state} = phi i32 {}", incoming.join(", "));
    }

    /// Finds a step that has not run in this round, else one of the next, and goes where it waits.
    fn search(&mut self, word: u64) {
        let bytes = self.split.frame_bytes;
        let states = self.split.followers.len();
        let rounds: Vec<String> = (0..states).map(|state| format!("[ %round.{state}, %reached.{state} ]")).collect();
        line!(self, "search:\n  %current = phi i32 {}\n  br label %scan", rounds.join(", "));
        line!(self, "scan:\n  %round = phi i32 [ %current, %search ], [ %other.round, %scan.end ]");
        line!(self, "  %again = phi i1 [ false, %search ], [ true, %scan.end ]\n  br label %scan.loop");
        line!(self, "scan.loop:\n  %scanned = phi i32 [ 0, %scan ], [ %scanned.next, %scan.next ]");
        line!(self, "  %scanned.long = zext i32 %scanned to i64");
        line!(self, "  %scanned.bytes = mul nuw i64 %scanned.long, {bytes}");
        line!(self, "  %scanned.offset = add nuw i64 %scanned.bytes, {word}");
        line!(self, "  %scanned.word = getelementptr inbounds i8, ptr %frames, i64 %scanned.offset");
        line!(self, "  %waits = load i32, ptr %scanned.word");
        line!(self, "  %waits.lives = icmp ne i32 %waits, {DONE}\n  %waits.round = and i32 %waits, 1");
        line!(self, "  %waits.now = icmp eq i32 %waits.round, %round");
        line!(self, "  %waits.hit = and i1 %waits.lives, %waits.now");
        line!(self, "  br i1 %waits.hit, label %found, label %scan.next");
        line!(self, "scan.next:\n  %scanned.next = add nuw i32 %scanned, 1");
        line!(self, "  %scan.more = icmp ult i32 %scanned.next, %steps");
        line!(self, "  br i1 %scan.more, label %scan.loop, label %scan.end");
        line!(self, "scan.end:\n  %other.round = xor i32 %round, 1\n  br i1 %again, label %done, label %scan");
        line!(self, "found:\n  %found.state = lshr i32 %waits, 1");
        self.dispatch("%found.state", &(1..states).collect::<Vec<_>>());
    }
}
