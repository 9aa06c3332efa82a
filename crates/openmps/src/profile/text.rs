//! The texts of operations, which are both log lines and messages of signposts; PyTorch's, letter by letter.

use std::fmt::Write as _;

use super::statistics::{CopyShape, Entry, Kind};
use super::tensor;
use crate::memory::format::size;

/// Times as they stand in a text, in milliseconds; what is 0 is left out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    pub(super) gpu_ms: f64,
    pub(super) cpu_ms: f64,
}

impl Times {
    fn spell(self, text: &mut String) {
        for (name, ms) in [("gpu", self.gpu_ms), ("cpu", self.cpu_ms)] {
            if ms > 0.0 {
                write!(text, ", {name}={ms:.3} ms").expect("a String takes all text");
            }
        }
    }
}

/// The line about a run of `entry`, which `run` counts; `key` is name and tensors, by default those of the last run.
pub(super) fn operation(entry: &Entry, run: u64, key: Option<&str>, times: Times) -> String {
    let Entry { kind, id, overhead_bytes, .. } = entry;
    let key = key.unwrap_or(&entry.key);
    let mut text = match kind {
        Kind::Graph => format!("aten::{key} (id=G{id}, run={run}"),
        Kind::Kernel => format!("aten::{key} (id=K{id}, run={run}"),
        Kind::Fallback | Kind::Copy => {
            format!("CPU Fallback::{key} (id={id}, run={run}, CopyOverhead={}", size(*overhead_bytes))
        }
    };
    let is_fallback = matches!(kind, Kind::Fallback | Kind::Copy);
    Times { gpu_ms: if is_fallback { 0.0 } else { times.gpu_ms }, ..times }.spell(&mut text);
    text.push(')');
    text
}

/// The line about a copy from the first tensor of `words` to the second.
pub(super) fn copy(words: &[u64], shape: CopyShape, times: Times) -> String {
    let how = if shape.is_blit { "Blit" } else { "Mem" };
    let sync = if shape.is_blocking { "Sync" } else { "" };
    let mut text = format!("{how}Copy{sync}: ");
    for (index, tensor) in tensor::tensors(words).take(2).enumerate() {
        if index == 1 {
            text.push_str(" --> ");
        }
        tensor.spell(&mut text);
    }
    write!(text, " (len={}", size(shape.bytes)).expect("a String takes all text");
    times.spell(&mut text);
    text.push(')');
    text
}
