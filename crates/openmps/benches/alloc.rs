//! What a cached allocation costs: nanoseconds for one allocate and free, beside `malloc` and `free` of the same size in the
//! same run. Checks first that the allocator really reuses the block, and fails if not.
#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]

use std::hint::black_box;
use std::ptr::NonNull;
use std::time::Instant;

use openmps::memory::{Allocator, Usage, allocator};

const ROUNDS: u32 = 200_000;
const REPEATS: usize = 7;

fn main() {
    let allocator = allocator().expect("the environment's settings are valid");
    println!("{:>10} {:>12} {:>12} {:>7}", "bytes", "openmps ns", "malloc ns", "ratio");
    for bytes in [64, 4096, 1 << 20, 4 << 20, 64 << 20] {
        check(allocator, bytes);
        let ours = best(|| pair(allocator, bytes));
        let theirs = best(|| malloc_pair(bytes));
        println!("{bytes:>10} {ours:>12.1} {theirs:>12.1} {:>7.2}", ours / theirs);
    }
    let ours = best(|| crowd(allocator));
    println!("{:>10} {ours:>12.1} {:>12} {:>7}   256 live blocks of 64 sizes", "mixed", "", "");
}

fn take(allocator: &Allocator, bytes: u64) -> NonNull<u8> {
    allocator.allocate(bytes, Usage::Device).expect("memory for the benchmark")
}

fn give(allocator: &Allocator, block: NonNull<u8>) {
    // SAFETY: every block here was taken from this allocator, is given back once and is used by nothing.
    unsafe { allocator.free(block) };
}

fn check(allocator: &Allocator, bytes: u64) {
    let first = take(allocator, bytes);
    let info = allocator.block(first.as_ptr()).expect("the block is handed out");
    give(allocator, first);
    let second = take(allocator, bytes);
    let again = allocator.block(second.as_ptr()).expect("the block is handed out");
    assert_eq!((second, again.id, again.use_count), (first, info.id, info.use_count + 1), "the block is not reused");
    give(allocator, second);
    assert_eq!(allocator.current_allocated_bytes(), 0, "something was not given back");
}

/// Best time of one round, in nanoseconds.
fn best(mut round: impl FnMut()) -> f64 {
    (0..REPEATS)
        .map(|_| {
            let start = Instant::now();
            (0..ROUNDS).for_each(|_| round());
            start.elapsed().as_secs_f64() * 1e9 / f64::from(ROUNDS)
        })
        .fold(f64::INFINITY, f64::min)
}

fn pair(allocator: &Allocator, bytes: u64) {
    give(allocator, black_box(take(allocator, black_box(bytes))));
}

fn malloc_pair(bytes: u64) {
    let bytes = usize::try_from(bytes).expect("the sizes are small");
    // SAFETY: any size may be asked for.
    let block = unsafe { libc::malloc(black_box(bytes)) };
    // SAFETY: from malloc above, or null.
    unsafe { libc::free(black_box(block)) };
}

thread_local! {
    static CROWD: std::cell::RefCell<(Vec<NonNull<u8>>, usize)> = const { std::cell::RefCell::new((Vec::new(), 0)) };
}

/// One allocate and free among many live blocks: each round replaces the oldest.
fn crowd(allocator: &Allocator) {
    CROWD.with_borrow_mut(|(blocks, round)| {
        *round += 1;
        let block = take(allocator, 256 * (1 + (*round as u64 * 37) % 64));
        if blocks.len() < 256 {
            blocks.push(block);
            return;
        }
        let oldest = std::mem::replace(&mut blocks[*round % 256], block);
        give(allocator, oldest);
    });
}
