//! Random lives of the allocator against a model that only knows sizes.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::memory::heap::HeapIndex;
use crate::memory::size::{PoolKind, round};
use crate::memory::state::{BlockState, State};

#[derive(Clone, Debug)]
enum Step {
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

fn step() -> impl Strategy<Value = Step> {
    let bytes = prop_oneof![
        4 => 1..4096u64,
        2 => 1..=MIB,
        2 => MIB..12 * MIB,
        1 => 12 * MIB..700 * MIB,
    ];
    let usage = prop_oneof![6 => Just(Usage::Device), 1 => Just(Usage::Pinned)];
    prop_oneof![
        12 => (bytes, usage).prop_map(|(bytes, usage)| Step::Take { bytes, usage }),
        1 => (1..9u64).prop_map(|bytes| Step::Take { bytes, usage: Usage::Scalar }),
        10 => any::<usize>().prop_map(|which| Step::Give { which }),
        2 => any::<usize>().prop_map(|which| Step::Retain { which }),
        2 => Just(Step::ReleaseOldest),
        2 => (0..3u32).prop_map(|stream| Step::Encode { stream }),
        2 => (0..3u32).prop_map(|stream| Step::Finish { stream }),
        2 => (any::<usize>(), 0..3u32).prop_map(|(which, stream)| Step::RecordStream { which, stream }),
        2 => (0..3u32).prop_map(|stream| Step::Switch { stream }),
        1 => Just(Step::EmptyCache),
    ]
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

fn apply(rig: &Rig, model: &mut Model, step: &Step) -> Result<(), TestCaseError> {
    match *step {
        Step::Take { bytes, usage } => {
            let Ok(block) = rig.try_take(bytes, usage) else {
                prop_assert!(rig.allocator.driver_allocated_bytes() > 2 << 30, "refused while there is memory");
                return Ok(());
            };
            let (info, start) = (rig.block(block), region::address_of(block.as_ptr()));
            let rounded = round(bytes, usage, u64::MAX);
            prop_assert!(start.is_multiple_of(rounded.pool.alignment_bytes()), "{start:#x} is not aligned");
            prop_assert!(info.size_bytes >= rounded.need_bytes && info.requested_bytes == bytes);
            prop_assert!(info.size_bytes - rounded.need_bytes < rounded.pool.min_split_bytes());
            prop_assert!(usage != Usage::Pinned || info.retain_count == 1, "pinned memory is in use");
            let before = model.live.range(..=start).next_back().map_or(0, |(start, (size, _))| start + size);
            let after = model.live.range(start..).next().map_or(u64::MAX, |(start, _)| *start);
            prop_assert!(before <= start && start + info.size_bytes <= after, "overlap at {start:#x}");
            model.live.insert(start, (info.size_bytes, block));
        }
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
    Ok(())
}

/// Every invariant of `State`, counted anew.
fn check(state: &State, model: &Model) -> Result<(), TestCaseError> {
    let (mut in_use, mut live, mut total) = (0, 0, 0);
    for pool in &state.pools {
        let (mut free_bytes, mut free_blocks) = (0, 0);
        for index in &pool.heaps {
            let (free, blocks, used) = check_heap(state, *index, &mut live)?;
            free_bytes += free;
            free_blocks += blocks;
            in_use += used;
            total += state.heap(*index).size_bytes;
        }
        prop_assert_eq!(pool.free_bytes, free_bytes);
        prop_assert_eq!(pool.free.iter().map(|list| list.blocks.len()).sum::<usize>(), free_blocks);
    }
    prop_assert_eq!(state.stats.allocated.current, in_use);
    prop_assert_eq!(state.stats.reserved.current, total);
    prop_assert_eq!(live, model.live.len());
    for block in &model.retained {
        let record = state.shared.record_at(region::address_of(block.as_ptr()));
        prop_assert!(record.is_some_and(|(_, record)| record.is_retained()), "a retained block was merged or released");
    }
    prop_assert_eq!(state.pending_count, state.pools.iter().map(|pool| pool.pending.len()).sum::<usize>());
    Ok(())
}

/// Free bytes, free blocks and bytes in use of one heap.
fn check_heap(state: &State, index: HeapIndex, live: &mut usize) -> Result<(u64, usize, u64), TestCaseError> {
    let heap = state.heap(index);
    let (mut end, mut next, mut previous) = (heap.base, Some(heap.first), None);
    let (mut free_bytes, mut free_blocks, mut in_use) = (0, 0, 0);
    while let Some(at) = next {
        let block = state.block(at);
        prop_assert_eq!((block.address, block.previous, block.heap), (end, previous, index));
        prop_assert_eq!(state.shared.arena.block_at(block.address), at.word());
        prop_assert_eq!(heap.start_before(block.address + block.size_bytes - 1), block.address);
        match block.state {
            BlockState::Free => {
                (free_bytes, free_blocks) = (free_bytes + block.size_bytes, free_blocks + 1);
                let stream = block.has_buffer.then_some(block.stream);
                let list = state.pools[heap.pool.index()].free.iter().find(|list| list.stream == stream);
                prop_assert!(list.is_some_and(|list| list.blocks.contains(&state.free_key(at))));
            }
            BlockState::Live => (in_use, *live) = (in_use + block.size_bytes, *live + 1),
            BlockState::Pending => in_use += block.size_bytes,
            BlockState::Vacant => prop_assert!(false, "a vacant block is linked"),
        }
        (end, previous, next) = (end + block.size_bytes, Some(at), block.next);
    }
    prop_assert_eq!(end, heap.base + heap.size_bytes);
    prop_assert_eq!(heap.free_bytes, free_bytes);
    Ok((free_bytes, free_blocks, in_use))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn any_life_keeps_the_invariants_and_ends_empty(steps in vec(step(), 1..200)) {
        let rig = Rig::with(|options| {
            (options.recommended_max_bytes, options.max_heap_bytes) = (3 << 30, 4 << 30);
            (options.high_watermark_ratio, options.low_watermark_ratio) = (1.2, 0.5);
        });
        let mut model = Model::default();
        for step in &steps {
            apply(&rig, &mut model, step)?;
            check(&rig.allocator.lock(), &model)?;
        }
        model.live.into_values().for_each(|(_, block)| rig.give(block));
        model.retained.into_iter().for_each(|block| rig.release(block));
        (0..3).for_each(|stream| rig.hands.finish(stream));
        rig.empty_cache();
        prop_assert_eq!(rig.allocator.current_allocated_bytes(), 0);
        prop_assert_eq!(rig.allocator.total_allocated_bytes(), 0);
        let state = rig.allocator.lock();
        prop_assert!(PoolKind::ALL.iter().all(|pool| state.pools[pool.index()].heaps.is_empty()));
        prop_assert!(state.blocks.iter().all(|block| block.state == BlockState::Vacant));
    }
}
