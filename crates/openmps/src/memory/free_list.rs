//! The free blocks of one stream in a pool, smallest first.
//!
//! A tree holds them. Before it stands a front of the blocks that small programs take and give back without end: for each of
//! a few sizes the smallest keys, in a row. Which block a request gets is what the tree alone would say; only finding it
//! costs less. The front holds exact fits, so it serves sizes of the small pools, whose blocks fit exactly or not at all.

use std::collections::BTreeSet;

use super::slab::BlockIndex;
use crate::limits::{MAX_SMALL_ALLOC_BYTES, SMALL_ALIGNMENT_BYTES};
use crate::stream_id::StreamId;

/// Sizes in a front; a power of two.
const CLASSES: u64 = 64;
/// Blocks of one size in a front.
const DEPTH: usize = 8;

/// A free block in the order of best fit: smallest first, then oldest heap, then lowest address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FreeKey {
    pub(super) size_bytes: u64,
    pub(super) heap_id: u64,
    pub(super) address: u64,
    pub(super) block: BlockIndex,
}

impl FreeKey {
    /// Not above any block of `size_bytes` or more.
    fn at_least(size_bytes: u64) -> FreeKey {
        FreeKey { size_bytes, heap_id: 0, address: 0, block: BlockIndex(0) }
    }
}

/// Blocks of one size that are kept before the tree.
struct Class {
    /// Every block of this size in the tree is greater.
    bound: FreeKey,
    /// None above `bound`; greatest first.
    keys: Vec<FreeKey>,
}

/// The free blocks whose buffer was last allocated by one stream, or those without a buffer.
pub(super) struct FreeList {
    pub(super) stream: Option<StreamId>,
    tree: BTreeSet<FreeKey>,
    classes: Vec<Option<Class>>,
}

/// Where blocks of this size stand in the front; none for sizes of the large pool.
fn class_of(size_bytes: u64) -> Option<usize> {
    if size_bytes > MAX_SMALL_ALLOC_BYTES {
        return None;
    }
    // Fibonacci hashing: powers of two, the usual sizes, would meet in one place otherwise.
    let hash = (size_bytes / SMALL_ALIGNMENT_BYTES).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    usize::try_from(hash >> (u64::BITS - CLASSES.ilog2())).ok()
}

impl FreeList {
    pub(super) fn new(stream: Option<StreamId>) -> FreeList {
        FreeList { stream, tree: BTreeSet::new(), classes: Vec::new() }
    }

    fn class(&self, size_bytes: u64) -> Option<&Class> {
        self.classes.get(class_of(size_bytes)?)?.as_ref().filter(|class| class.bound.size_bytes == size_bytes)
    }

    fn class_mut(&mut self, size_bytes: u64) -> Option<&mut Class> {
        self.classes.get_mut(class_of(size_bytes)?)?.as_mut().filter(|class| class.bound.size_bytes == size_bytes)
    }

    pub(super) fn insert(&mut self, key: FreeKey) {
        let Some(class) = self.class_mut(key.size_bytes) else {
            self.tree.insert(key);
            return;
        };
        let mut rest = key;
        if key <= class.bound {
            let place = class.keys.partition_point(|other| *other > key);
            if class.keys.len() < DEPTH {
                class.keys.insert(place, key);
                return;
            }
            // The greatest of them gives way to the tree.
            if place > 0 {
                rest = class.keys.remove(0);
                class.keys.insert(place - 1, key);
            }
            class.bound = class.keys[0];
        }
        self.tree.insert(rest);
    }

    /// The smallest block of `need_bytes` or more whose surplus is below `surplus_bytes`, the least that the pool cuts off.
    pub(super) fn fit(&self, need_bytes: u64, surplus_bytes: u64) -> Option<FreeKey> {
        if let Some(key) = self.class(need_bytes).and_then(|class| class.keys.last()) {
            return Some(*key);
        }
        let key = *self.tree.range(FreeKey::at_least(need_bytes)..).next()?;
        (key.size_bytes - need_bytes < surplus_bytes).then_some(key)
    }

    /// Takes out what [`fit`](Self::fit) has found.
    pub(super) fn take_fit(&mut self, key: &FreeKey) {
        if let Some(class) = self.class_mut(key.size_bytes)
            && class.keys.pop_if(|last| last == key).is_some()
        {
            return;
        }
        let was_there = self.tree.remove(key);
        assert!(was_there, "the free block {key:?} of stream {:?} is not in its list", self.stream);
        self.claim(*key);
    }

    /// The size of `key`, which was the smallest of its size in the tree, gets a class; what had its place goes to the tree.
    fn claim(&mut self, key: FreeKey) {
        let Some(place) = class_of(key.size_bytes) else { return };
        if self.classes.is_empty() {
            self.classes.resize_with(1 << CLASSES.ilog2(), || None);
        }
        let class = self.classes[place].get_or_insert_with(|| Class { bound: key, keys: Vec::with_capacity(DEPTH) });
        class.bound = key;
        self.tree.extend(class.keys.drain(..));
    }

    /// Takes out `key`; whether it was there.
    pub(super) fn remove(&mut self, key: &FreeKey) -> bool {
        if let Some(class) = self.class_mut(key.size_bytes)
            && let Some(place) = class.keys.iter().position(|other| other == key)
        {
            class.keys.remove(place);
            return true;
        }
        self.tree.remove(key)
    }

    /// All blocks of `need_bytes` or more, smallest first.
    pub(super) fn at_least(&mut self, need_bytes: u64) -> impl Iterator<Item = &FreeKey> {
        for class in self.classes.iter_mut().filter_map(Option::take) {
            self.tree.extend(class.keys);
        }
        self.tree.range(FreeKey::at_least(need_bytes)..)
    }

    /// Every block, in no order.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(super) fn iter(&self) -> impl Iterator<Item = &FreeKey> {
        self.tree.iter().chain(self.classes.iter().flatten().flat_map(|class| &class.keys))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(size_bytes: u64, address: u64) -> FreeKey {
        let block = BlockIndex(u32::try_from(address).expect("small"));
        FreeKey { size_bytes, heap_id: address % 3, address, block }
    }

    /// What a list does to blocks of few sizes, against a tree without a front.
    #[derive(Clone, Debug)]
    enum Step {
        Give(u64, u64),
        Take(u64),
        Remove(usize),
        Look(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        let size = (0usize..8).prop_map(|at| [256, 512, 768, 4096, 16384, 65536, MAX_SMALL_ALLOC_BYTES, 2 << 20][at]);
        prop_oneof![
            4 => (size.clone(), 0u64..60).prop_map(|(size, address)| Step::Give(size, address)),
            4 => size.clone().prop_map(Step::Take),
            1 => (0usize..1000).prop_map(Step::Remove),
            1 => size.prop_map(Step::Look),
        ]
    }

    proptest! {
        #[test]
        fn a_front_changes_no_choice(steps in proptest::collection::vec(step(), 1..400)) {
            let (mut list, mut plain) = (FreeList::new(None), BTreeSet::new());
            for step in steps {
                match step {
                    Step::Give(size, address) => {
                        if plain.insert(key(size, address)) {
                            list.insert(key(size, address));
                        }
                    }
                    Step::Take(need) => {
                        let expected = plain.range(FreeKey::at_least(need)..).next().copied();
                        let expected = expected.filter(|found| found.size_bytes - need < 256);
                        prop_assert_eq!(list.fit(need, 256), expected);
                        if let Some(found) = expected {
                            list.take_fit(&found);
                            plain.remove(&found);
                        }
                    }
                    Step::Remove(which) => {
                        if let Some(found) = plain.iter().nth(which % plain.len().max(1)).copied() {
                            prop_assert!(list.remove(&found) && plain.remove(&found));
                            prop_assert!(!list.remove(&found));
                        }
                    }
                    Step::Look(need) => {
                        prop_assert!(list.at_least(need).eq(plain.range(FreeKey::at_least(need)..)));
                    }
                }
                prop_assert_eq!(list.iter().copied().collect::<BTreeSet<_>>(), plain.clone());
            }
        }
    }
}
