//! What a run prints at its end: the count, the times, and the failures grouped by what they have in common.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::state::State;
use super::worker::Held;

/// Longest class of messages that is printed, in characters.
const CLASS_CHARS_MAX: usize = 240;

/// Writes the summary of `wanted`.
pub(super) fn write(
    out: &mut dyn Write,
    library: &str,
    wanted: &[&str],
    state: &State,
    opening: &[u64],
    held: Option<Held>,
) -> io::Result<()> {
    let outcomes = wanted.iter().filter_map(|kernel| Some((*kernel, state.outcome(kernel)?)));
    let mut times = Vec::new();
    let mut classes: BTreeMap<String, Vec<(&str, &str)>> = BTreeMap::new();
    for (kernel, outcome) in outcomes {
        match &outcome.failure {
            None => times.push(outcome.micros),
            Some(message) => classes.entry(class(message, kernel)).or_default().push((kernel, message)),
        }
    }
    let mut classes: Vec<_> = classes.into_iter().collect();
    classes.sort_by_key(|(_, kernels)| std::cmp::Reverse(kernels.len()));
    for (class, kernels) in &classes {
        let (kernel, message) = kernels[0];
        writeln!(out, "{:>6} {class}\n       e.g. {kernel}: {message}", kernels.len())?;
    }
    let share = 100.0 * times.len() as f64 / wanted.len().max(1) as f64;
    writeln!(out, "library {library}: {} of {} pipelines ({share:.2} %)", times.len(), wanted.len())?;
    times.sort_unstable();
    let [median, slow, slower, worst] = [50, 95, 99, 100].map(|percent| percentile(&times, percent));
    let percentiles = format!("95th percentile {slow:.1} ms, 99th {slower:.1} ms");
    writeln!(out, "  building one: median {median:.1} ms, {percentiles}, longest {worst:.1} ms")?;
    if !opening.is_empty() {
        let mut opening = opening.to_vec();
        opening.sort_unstable();
        writeln!(out, "  opening: median {:.1} ms of {}", percentile(&opening, 50), opening.len())?;
    }
    if let Some(Held { kernels, bytes }) = held {
        writeln!(out, "  memory of {kernels} built kernels: {} MB", bytes / 1_000_000)?;
    }
    out.flush()
}

/// Milliseconds below which `percent` of the sorted `micros` are.
fn percentile(micros: &[u64], percent: usize) -> f64 {
    let rank = (micros.len() * percent).div_ceil(100).max(1) - 1;
    micros.get(rank).map_or(0.0, |&micros| micros as f64 / 1000.0)
}

/// The message without what differs from kernel to kernel: its name, values, numbers.
fn class(message: &str, kernel: &str) -> String {
    let mut class = String::new();
    let mut letters = message.replace(kernel, "KERNEL").chars().collect::<Vec<_>>().into_iter().peekable();
    while let Some(letter) = letters.next() {
        let is_value = letter == '%' || letter == '@';
        let follows = |next: &char| next.is_ascii_alphanumeric() || matches!(next, '_' | '.');
        class.push(letter);
        if is_value && letters.peek().is_some_and(follows) && letter == '%' {
            while letters.next_if(follows).is_some() {}
            class.push('V');
        } else if letter.is_ascii_digit()
            && !class.trim_end_matches(|c: char| c.is_ascii_digit()).ends_with(['f', 'i', 'v', 'x'])
        {
            class.pop();
            while letters.next_if(char::is_ascii_digit).is_some() {}
            class.push('#');
        }
    }
    class.chars().take(CLASS_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_differ_in_names_and_numbers_are_one_class() {
        let one = class("kernel 'a_b': air.foo.v2f32 in %17 = call at 12", "a_b");
        assert_eq!(one, class("kernel 'sum_f32': air.foo.v2f32 in %x.3 = call at 7", "sum_f32"));
        assert_eq!(one, "kernel 'KERNEL': air.foo.v2f32 in %V = call at #");
        assert_ne!(one, class("kernel 'sum_f32': air.foo.v4f32 in %x.3 = call at 7", "sum_f32"));
    }

    #[test]
    fn percentiles_are_taken_from_the_values() {
        let micros: Vec<u64> = (1..=100).map(|value| value * 1000).collect();
        assert_eq!([50, 99, 100].map(|percent| percentile(&micros, percent)), [50.0, 99.0, 100.0]);
        assert_eq!(percentile(&[], 50), 0.0);
        assert_eq!(percentile(&[2000], 99), 2.0);
    }
}
