//! Random damage to inputs, for runs without a fuzzer: bits, bytes, ranges, words, tokens, lines, splices.

use std::ops::Range;

/// Longest input that a mutation makes, in bytes.
const INPUT_BYTES_MAX: usize = 1 << 16;

/// Longest range that one mutation inserts or copies, in bytes.
const RANGE_BYTES_MAX: usize = 64;

/// Numbers (SplitMix64) that a seed determines.
pub(super) struct Random {
    state: u64,
}

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).expect("usize has 64 bits");
        usize::try_from(self.bits() % bound).expect("below a usize")
    }

    fn byte(&mut self) -> u8 {
        self.bits().to_le_bytes()[0]
    }
}

/// What kind of mutation gets past an input's first checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Bytes come, go and change anywhere.
    Bytes,
    /// Mostly the length stays, for formats with offsets in them.
    InPlace,
    /// Mostly tokens and lines come, go and move, for languages.
    Tokens,
}

/// A damaged copy of one of the `inputs`, with one to eight mutations.
pub(super) fn mutate(random: &mut Random, inputs: &[Vec<u8>], damage: Damage, words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = inputs[random.below(inputs.len())].clone();
    // A text with four random tokens is hardly ever valid.
    let doublings = if damage == Damage::Tokens { 2 } else { 4 };
    for _ in 0..1 << random.below(doublings) {
        let is_blunt = random.below(8) == 0;
        match damage {
            Damage::InPlace if !is_blunt => change(random, &mut bytes),
            Damage::Tokens if !is_blunt => change_tokens(random, &mut bytes, inputs, words),
            Damage::Bytes if random.below(2) == 0 => change(random, &mut bytes),
            Damage::Bytes | Damage::InPlace | Damage::Tokens => resize(random, &mut bytes, inputs, words),
        }
        bytes.truncate(INPUT_BYTES_MAX);
    }
    bytes
}

/// Changes bytes and keeps the length.
fn change(random: &mut Random, bytes: &mut [u8]) {
    // Extremes that off-by-one errors and overflows stand beside.
    const NUMBERS: [u64; 8] = [0, 1, 0x7f, 0x80, 0x7fff_ffff, 0xffff_ffff, i64::MAX as u64, u64::MAX];
    if bytes.is_empty() {
        return;
    }
    let place = random.below(bytes.len());
    let width = [1, 2, 4, 8][random.below(4)].min(bytes.len() - place);
    match random.below(6) {
        0 | 1 => bytes[place] ^= 1 << random.below(8),
        2 => bytes[place] = random.byte(),
        3 => bytes[place] = bytes[place].wrapping_add(if random.below(2) == 0 { 1 } else { 255 }),
        4 => {
            let number = NUMBERS[random.below(NUMBERS.len())].to_le_bytes();
            bytes[place..place + width].copy_from_slice(&number[..width]);
        }
        _ => {
            let source = random.below(bytes.len() - width + 1);
            bytes.copy_within(source..source + width, place);
        }
    }
}

/// Inserts, deletes and splices bytes.
fn resize(random: &mut Random, bytes: &mut Vec<u8>, inputs: &[Vec<u8>], words: &[&[u8]]) {
    let place = random.below(bytes.len() + 1);
    let end = (place + random.below(RANGE_BYTES_MAX) + 1).min(bytes.len());
    match random.below(6) {
        0 => drop(bytes.drain(place..end)),
        1 => {
            let range = bytes[place..end].to_vec();
            let target = random.below(bytes.len() + 1);
            bytes.splice(target..target, range);
        }
        2 => {
            let range: Vec<u8> = (0..=random.below(8)).map(|_| random.byte()).collect();
            bytes.splice(place..place, range);
        }
        3 | 4 if !words.is_empty() => {
            let word = words[random.below(words.len())];
            bytes.splice(place..place, word.iter().copied());
        }
        5 => {
            let other = &inputs[random.below(inputs.len())];
            bytes.truncate(place);
            bytes.extend_from_slice(&other[random.below(other.len() + 1)..]);
        }
        _ => bytes.truncate(bytes.len() - random.below(RANGE_BYTES_MAX).min(bytes.len())),
    }
}

/// Moves tokens and lines within the text, or takes them from another one.
fn change_tokens(random: &mut Random, bytes: &mut Vec<u8>, inputs: &[Vec<u8>], words: &[&[u8]]) {
    let is_line = random.below(6) == 0;
    let range = if is_line { line_at } else { token_at };
    let place = random.below(bytes.len() + 1);
    let mut target = range(bytes, place);
    let other = &inputs[random.below(inputs.len())];
    let source: &[u8] = if random.below(4) == 0 { other } else { bytes };
    let replacement = match random.below(12) {
        0 => Vec::new(),
        1 if !words.is_empty() => words[random.below(words.len())].to_vec(),
        2 => source[range(source, random.below(source.len() + 1))].to_vec(),
        _ => alike(random, source, &bytes[target.clone()], range),
    };
    if random.below(8) == 0 {
        target = target.start..target.start;
    }
    bytes.splice(target, replacement);
}

/// A range of `source` that begins as `old` does (a number for a number, `%` for `%`), since a grammar rarely allows others.
fn alike(random: &mut Random, source: &[u8], old: &[u8], range: fn(&[u8], usize) -> Range<usize>) -> Vec<u8> {
    const TRIES: usize = 32;
    let kind = |text: &[u8]| {
        text.first().map(|first| {
            if first.is_ascii_alphabetic() { b'a' } else { if first.is_ascii_digit() { b'0' } else { *first } }
        })
    };
    let candidates = (0..TRIES).map(|_| &source[range(source, random.below(source.len() + 1))]);
    let mut fitting = candidates.filter(|text| kind(text) == kind(old) && *text != old);
    fitting.next().unwrap_or_default().to_vec()
}

/// The line around `place` with its end.
fn line_at(text: &[u8], place: usize) -> Range<usize> {
    let start = text[..place].iter().rposition(|byte| *byte == b'\n').map_or(0, |before| before + 1);
    let end = text[place..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |after| place + after + 1);
    start..end
}

/// The word around `place`, or one byte that is in none.
fn token_at(text: &[u8], place: usize) -> Range<usize> {
    let is_separator = |byte: &u8| !(byte.is_ascii_alphanumeric() || b"_.%@!".contains(byte));
    let start = text[..place].iter().rposition(is_separator).map_or(0, |before| before + 1);
    let end = text[place..].iter().position(is_separator).map_or(text.len(), |after| place + after);
    if start == end { start..(start + 1).min(text.len()) } else { start..end }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_inputs_and_every_kind_of_length() {
        let inputs = vec![b"some words to damage".to_vec(), Vec::new()];
        let all = |seed| {
            let mut random = Random::new(seed);
            let all = [Damage::Bytes, Damage::InPlace, Damage::Tokens];
            let mutated = |round: usize| mutate(&mut random, &inputs, all[round % 3], &[b"word"]);
            (0..1000).map(mutated).collect::<Vec<_>>()
        };
        let (first, other) = (all(1), all(2));
        assert_eq!(first, all(1));
        assert_ne!(first, other);
        assert!(first.iter().any(|input| input.len() > inputs[0].len()));
        assert!(first.iter().any(|input| input.len() < inputs[0].len() && !input.is_empty()));
        assert!(first.iter().filter(|input| **input == inputs[0]).count() < 100);
    }
}
