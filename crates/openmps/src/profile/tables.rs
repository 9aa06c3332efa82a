//! The tables of statistics at the end of a program, in PyTorch's columns.

use std::cmp::Ordering;
use std::fmt::Write as _;

use super::names;
use super::options::LogOptions;
use super::statistics::{CopyStatistics, Entry, Kind, Statistics};
use crate::memory::format::size;

const INFALLIBLE: &str = "a String takes all text";

/// The tables that `log` asks for: operations, fallbacks, copies.
pub(super) fn tables(log: LogOptions, statistics: &Statistics) -> String {
    let mut text = String::new();
    if log.contains(LogOptions::OPERATION_STATS) {
        operations(&mut text, statistics);
    }
    if log.contains(LogOptions::CPU_FALLBACK_STATS) {
        fallbacks(&mut text, statistics);
    }
    if log.contains(LogOptions::COPY_STATS) {
        copies(&mut text, statistics);
    }
    text
}

#[expect(clippy::cast_precision_loss, reason = "counts of runs are far below 2^53")]
fn mean(total_ms: f64, runs: u64) -> f64 {
    total_ms / runs as f64
}

/// Largest mean first; equal ones in the order in which they first ran.
fn sort_by_mean(entries: &mut [&Entry], total_ms: impl Fn(&Entry) -> f64) {
    let mean = |entry: &Entry| mean(total_ms(entry), entry.runs);
    entries.sort_by(|a, b| mean(b).partial_cmp(&mean(a)).unwrap_or(Ordering::Equal));
}

fn operations(text: &mut String, statistics: &Statistics) {
    let mut entries = statistics.entries(|kind| matches!(kind, Kind::Graph | Kind::Kernel));
    if entries.is_empty() {
        text.push_str("There are no MPS operations logged for profiling\n");
        return;
    }
    sort_by_mean(&mut entries, |entry| entry.gpu_ms);
    let Statistics { graphs, kernels, .. } = statistics;
    writeln!(
        text,
        "\n{:-^200}\n{:^6}|{:^7}|{:^15}|{:^14}|{:^15}| Operation Name\n{:-^200}",
        format!(" MPS Operations Profiling: {graphs} graphs, {kernels} kernels "),
        "ID",
        "#Runs",
        "Mean KRNL(ms)",
        "Mean GPU(ms)",
        "Total GPU(ms)",
        "",
    )
    .expect(INFALLIBLE);
    for entry in entries {
        let letter = if entry.kind == Kind::Graph { 'G' } else { 'K' };
        writeln!(
            text,
            "{:^7}{:^8}{:^16}{:^15}{:^16} {}",
            format!("{letter}{}", entry.id),
            entry.runs,
            format!("{:.3}", mean(entry.cpu_ms, entry.runs)),
            format!("{:.3}", mean(entry.gpu_ms, entry.runs)),
            format!("{:.3}", entry.gpu_ms),
            entry.key,
        )
        .expect(INFALLIBLE);
    }
}

fn fallbacks(text: &mut String, statistics: &Statistics) {
    let mut entries = statistics.entries(|kind| kind == Kind::Fallback);
    if entries.is_empty() {
        text.push_str("There are no CPU Fallbacks logged for profiling\n");
        return;
    }
    sort_by_mean(&mut entries, |entry| entry.cpu_ms);
    let runs: u64 = entries.iter().map(|entry| entry.runs).sum();
    let cpu_ms: f64 = entries.iter().map(|entry| entry.cpu_ms).sum();
    let bytes: u64 = entries.iter().map(|entry| entry.total_overhead_bytes).sum();
    writeln!(
        text,
        "\n{:-^150}\n{:^5}|{:^7}|{:^14}|{:^15}|{:^15}| Operation Name\n{:-^150}",
        format!(" CPU Fallback Profiling: Total {runs} Runs, {cpu_ms:.2} ms, {} Copies ", size(bytes)),
        "ID",
        "#Runs",
        "Mean CPU(ms)",
        "Total CPU(ms)",
        "Copy Overhead",
        "",
    )
    .expect(INFALLIBLE);
    for entry in entries {
        writeln!(
            text,
            "{:^6}{:^8}{:^15}{:^16}{:^16} {}",
            entry.id,
            entry.runs,
            format!("{:.3}", mean(entry.cpu_ms, entry.runs)),
            format!("{:.3}", entry.cpu_ms),
            size(entry.total_overhead_bytes),
            names::get(entry.name).text,
        )
        .expect(INFALLIBLE);
    }
}

fn copies(text: &mut String, statistics: &Statistics) {
    let sum = |of: fn(&CopyStatistics) -> u64| statistics.copies.iter().map(of).sum::<u64>();
    let (count, bytes, scalars) = (sum(|copy| copy.count), sum(|copy| copy.bytes), sum(|copy| copy.scalars));
    if count == 0 {
        text.push_str("There are no copies logged for profiling\n");
        return;
    }
    writeln!(
        text,
        "\n{:-^160}\n{:^12}|{:^10}|{:^17}|{:^16}|{:^15}|{:^9}|{:^13}|{:^10}|{:^8}\n{:-^160}",
        format!(" MPS Copy Profiling: {count} total copies ({}), {scalars} scalar copies ", size(bytes)),
        "Kind",
        "Total#",
        "Total Size",
        "Total KRNL(ms)",
        "Total GPU(ms)",
        "Scalars",
        "Scalars GPU",
        "Blocking",
        "memcpy",
        "",
    )
    .expect(INFALLIBLE);
    for (kind, copies) in ["MPS to MPS", "MPS to CPU", "CPU to MPS"].into_iter().zip(&statistics.copies) {
        if copies.count == 0 {
            continue;
        }
        let share = if copies.gpu_ms > 0.0 { copies.scalars_gpu_ms / copies.gpu_ms * 100.0 } else { 0.0 };
        writeln!(
            text,
            "{kind:^13}{:^11}{:^18}{:^17}{:^16}{:^10}{:^14}{:^11}{:^9}",
            copies.count,
            size(copies.bytes),
            format!("{:.3}", copies.cpu_ms),
            format!("{:.3}", copies.gpu_ms),
            copies.scalars,
            format!("{share:.2} %"),
            copies.blocking,
            copies.memcpy,
        )
        .expect(INFALLIBLE);
    }
}
