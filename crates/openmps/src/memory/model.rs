//! Lives of an allocator against a model that only knows sizes, for property tests and the fuzz target. Not in the product.
//!
//! A life is a list of [`Step`]s. After each, every invariant of [`State`] is counted anew; at the end everything is given
//! back, and nothing may be left. Panics say which invariant is broken.

use std::collections::BTreeMap;
use std::ptr::NonNull;

use super::heap::HeapIndex;
use super::rig::Rig;
use super::size::{PoolKind, round};
use super::state::{BlockState, State};
use super::{Usage, region};
use crate::limits::MIB;
use crate::stream_id::StreamId;

/// Streams of a life.
pub(super) const STREAMS: u32 = 3;

/// Longest life that is decoded, in steps: each one checks the whole state.
const STEPS_MAX: usize = 400;

/// One thing that happens to an allocator. Where a block is named by a number, it is that one of the live blocks, modulo
/// their count.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Take { bytes: u64, usage: Usage },
    Give { which: usize },
    Retain { which: usize },
    ReleaseOldest,
    Encode { stream: u32 },
    Finish { stream: u32 },
    RecordStream { which: usize, stream: u32 },
    Switch { stream: u32 },
    EmptyCache,
}

/// Lives the life that `bytes` spell: four bytes a step, what is left over is ignored.
///
/// # Panics
/// When the allocator breaks an invariant.
pub fn live_bytes(bytes: &[u8]) {
    let steps: Vec<Step> = bytes.as_chunks().0.iter().take(STEPS_MAX).map(decode).collect();
    live(&steps);
}

/// A step from its code and three bytes of arguments.
fn decode(&[code, low, middle, high]: &[u8; 4]) -> Step {
    let (which, stream) = (usize::from(low), u32::from(middle) % STREAMS);
    let number = u64::from(u32::from_le_bytes([low, middle, high, 0]));
    match code % 16 {
        0..=2 => Step::Take { bytes: number % 4096 + 1, usage: Usage::Device },
        3 => Step::Take { bytes: number % MIB + 1, usage: Usage::Device },
        4 => Step::Take { bytes: number + 1, usage: Usage::Device },
        // 24 bits reach 16 MiB; times 45 the largest heap is left behind.
        5 => Step::Take { bytes: number * 45 + 1, usage: Usage::Device },
        6 => Step::Take { bytes: number + 1, usage: Usage::Pinned },
        7 => Step::Take { bytes: number % 8 + 1, usage: Usage::Scalar },
        8 | 9 => Step::Give { which },
        10 => Step::Retain { which },
        11 => Step::ReleaseOldest,
        12 if high % 2 == 0 => Step::Encode { stream },
        12 => Step::Finish { stream },
        13 => Step::RecordStream { which, stream },
        14 => Step::Switch { stream },
        _ => Step::EmptyCache,
    }
}

/// Lives a life from a new allocator to an empty one.
///
/// # Panics
/// When the allocator breaks an invariant.
pub(super) fn live(steps: &[Step]) {
    let rig = Rig::with(|options| {
        (options.recommended_max_bytes, options.max_heap_bytes) = (3 << 30, 4 << 30);
        (options.high_watermark_ratio, options.low_watermark_ratio) = (1.2, 0.5);
    });
    let mut model = Model::default();
    for step in steps {
        apply(&rig, &mut model, step);
        check(&rig.allocator.lock(), &model);
    }
    model.live.into_values().for_each(|(_, block)| rig.give(block));
    model.retained.into_iter().for_each(|block| rig.release(block));
    (0..STREAMS).for_each(|stream| rig.hands.finish(stream));
    rig.empty_cache();
    assert_eq!(rig.allocator.current_allocated_bytes(), 0);
    assert_eq!(rig.allocator.total_allocated_bytes(), 0);
    let state = rig.allocator.lock();
    assert!(PoolKind::ALL.iter().all(|pool| state.pools[pool.index()].heaps.is_empty()));
    assert!(state.blocks.iter().all(|block| block.state == BlockState::Vacant));
}

/// What the model knows: live blocks by address, and what commands hold.
#[derive(Default)]
struct Model {
    live: BTreeMap<u64, (u64, NonNull<u8>)>,
    retained: Vec<NonNull<u8>>,
}

impl Model {
    fn pick(&self, which: usize) -> Option<NonNull<u8>> {
        let count = self.live.len();
        (count > 0).then(|| self.live.values().nth(which % count).expect("within the count").1)
    }
}

fn apply(rig: &Rig, model: &mut Model, step: &Step) {
    match *step {
        Step::Take { bytes, usage } => take(rig, model, bytes, usage),
        Step::Give { which } => {
            if let Some(block) = model.pick(which) {
                model.live.remove(&region::address_of(block.as_ptr()));
                rig.give(block);
            }
        }
        Step::Retain { which } => {
            if let Some(block) = model.pick(which) {
                rig.retain(block);
                model.retained.push(block);
            }
        }
        Step::ReleaseOldest => {
            if !model.retained.is_empty() {
                rig.release(model.retained.remove(0));
            }
        }
        Step::Encode { stream } => rig.hands.encode(stream),
        Step::Finish { stream } => rig.hands.finish(stream),
        Step::RecordStream { which, stream } => {
            if let Some(block) = model.pick(which) {
                rig.allocator.record_stream(block.as_ptr(), StreamId(stream));
            }
        }
        Step::Switch { stream } => rig.hands.switch_to(stream),
        Step::EmptyCache => rig.empty_cache(),
    }
}

fn take(rig: &Rig, model: &mut Model, bytes: u64, usage: Usage) {
    let Ok(block) = rig.try_take(bytes, usage) else {
        assert!(rig.allocator.driver_allocated_bytes() > 2 << 30, "refused while there is memory");
        return;
    };
    let (info, start) = (rig.block(block), region::address_of(block.as_ptr()));
    let rounded = round(bytes, usage, u64::MAX);
    assert!(start.is_multiple_of(rounded.pool.alignment_bytes()), "{start:#x} is not aligned");
    assert!(info.size_bytes >= rounded.need_bytes && info.requested_bytes == bytes);
    assert!(info.size_bytes - rounded.need_bytes < rounded.pool.min_split_bytes());
    assert!(usage != Usage::Pinned || info.retain_count == 1, "pinned memory is in use");
    let before = model.live.range(..=start).next_back().map_or(0, |(start, (size, _))| start + size);
    let after = model.live.range(start..).next().map_or(u64::MAX, |(start, _)| *start);
    assert!(before <= start && start + info.size_bytes <= after, "overlap at {start:#x}");
    model.live.insert(start, (info.size_bytes, block));
}

/// Every invariant of `State`, counted anew.
fn check(state: &State, model: &Model) {
    let (mut in_use, mut live, mut total) = (0, 0, 0);
    for pool in &state.pools {
        let (mut free_bytes, mut free_blocks) = (0, 0);
        for index in &pool.heaps {
            let (free, blocks, used) = check_heap(state, *index, &mut live);
            free_bytes += free;
            free_blocks += blocks;
            in_use += used;
            total += state.heap(*index).size_bytes;
        }
        assert_eq!(pool.free_bytes, free_bytes);
        assert_eq!(pool.free.iter().map(|list| list.iter().count()).sum::<usize>(), free_blocks);
    }
    assert_eq!(state.stats.allocated.current, in_use);
    assert_eq!(state.stats.pools.iter().sum::<u64>(), in_use);
    assert_eq!(state.stats.reserved.current, total);
    assert_eq!(live, model.live.len());
    for block in &model.retained {
        let record = state.shared.record_at(region::address_of(block.as_ptr()));
        assert!(record.is_some_and(|(_, record)| record.is_retained()), "a retained block was merged or released");
    }
    assert_eq!(state.pending_count, state.pools.iter().map(|pool| pool.pending.len()).sum::<usize>());
}

/// Free bytes, free blocks and bytes in use of one heap.
fn check_heap(state: &State, index: HeapIndex, live: &mut usize) -> (u64, usize, u64) {
    let heap = state.heap(index);
    let (mut end, mut next, mut previous) = (heap.base, Some(heap.first), None);
    let (mut free_bytes, mut free_blocks, mut in_use) = (0, 0, 0);
    while let Some(at) = next {
        let block = state.block(at);
        assert_eq!((block.address, block.previous, block.heap), (end, previous, index));
        assert_eq!(state.shared.arena.block_at(block.address), at.word());
        assert_eq!(heap.start_before(block.address + block.size_bytes - 1), block.address);
        match block.state {
            BlockState::Free => {
                (free_bytes, free_blocks) = (free_bytes + block.size_bytes, free_blocks + 1);
                let stream = block.has_buffer.then_some(block.stream);
                let list = state.pools[heap.pool.index()].free.iter().find(|list| list.stream == stream);
                assert!(list.is_some_and(|list| list.iter().any(|key| *key == state.free_key(at))));
            }
            BlockState::Live => (in_use, *live) = (in_use + block.size_bytes, *live + 1),
            BlockState::Pending => in_use += block.size_bytes,
            BlockState::Vacant => panic!("a vacant block is linked"),
        }
        (end, previous, next) = (end + block.size_bytes, Some(at), block.next);
    }
    assert_eq!(end, heap.base + heap.size_bytes);
    assert_eq!(heap.free_bytes, free_bytes);
    (free_bytes, free_blocks, in_use)
}
