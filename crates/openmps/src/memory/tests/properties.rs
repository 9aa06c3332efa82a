//! Random lives of the allocator against its model.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::memory::model::{STREAMS, Step, live};

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
        2 => (0..STREAMS).prop_map(|stream| Step::Encode { stream }),
        2 => (0..STREAMS).prop_map(|stream| Step::Finish { stream }),
        2 => (any::<usize>(), 0..STREAMS).prop_map(|(which, stream)| Step::RecordStream { which, stream }),
        2 => (0..STREAMS).prop_map(|stream| Step::Switch { stream }),
        1 => Just(Step::EmptyCache),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn any_life_keeps_the_invariants_and_ends_empty(steps in vec(step(), 1..200)) {
        live(&steps);
    }
}
