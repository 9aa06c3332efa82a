//! Errors and log lines, byte for byte.

use super::*;

fn failure(rig: &Rig, bytes: u64) -> String {
    rig.try_take(bytes, Usage::Device).expect_err("must fail").to_string()
}

#[test]
fn a_buffer_must_be_shorter_than_the_longest() {
    let rig = Rig::with(|options| options.max_buffer_length_bytes = 64 * MIB);
    assert_eq!(failure(&rig, 64 * MIB), "Invalid buffer size: 64.00 MiB");
    assert_eq!(failure(&rig, u64::MAX), "Invalid buffer size: 17179869184.00 GiB");
    rig.take(64 * MIB - 1);
}

#[test]
fn out_of_memory_says_what_is_used_and_how_to_lift_the_limit() {
    let rig = Rig::new();
    rig.take(1);
    rig.take(1024 * MIB);
    assert_eq!(
        failure(&rig, 900 * MIB),
        "MPS backend out of memory (MPS allocated: 1.01 GiB, other allocations: 0 bytes, max allowed: 1.70 GiB). Tried to \
         allocate 912.00 MiB on shared pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory \
         allocations (may cause system failure)."
    );
    rig.take(1);
}

#[test]
fn without_a_limit_the_machine_is_the_limit() {
    let rig = Rig::with(|options| {
        (options.high_watermark_ratio, options.max_heap_bytes) = (0.0, 1 << 30);
    });
    assert_eq!(
        failure(&rig, 2 << 30),
        "MPS backend out of memory (MPS allocated: 0 bytes, other allocations: 0 bytes). Tried to allocate 2.00 GiB on shared \
         pool."
    );
}

#[test]
fn bad_ratios_fail_the_construction() {
    let new = |high, low| {
        let mut options = options(&Arc::default());
        (options.high_watermark_ratio, options.low_watermark_ratio) = (high, low);
        Allocator::new(options, Box::new(HandClock(Arc::default()))).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(new(2.5, 1.4), Err("invalid high watermark ratio 2.5".into()));
    assert_eq!(new(1.0, 1.4), Err("invalid low watermark ratio 1.4".into()));
    assert_eq!(new(1.0, 1.0), Ok(()));
    assert_eq!(
        Rig::new().allocator.set_high_watermark_ratio(3.0).expect_err("too high").to_string(),
        "invalid high watermark ratio 3"
    );
}

#[test]
fn every_line_of_a_life() {
    let rig = Rig::with(|options| options.verbosity = 15);
    assert_eq!(
        rig.take_lines(),
        [
            "High watermark memory allocation limit: 1.70 GiB",
            "Low watermark memory allocation limit: 1.40 GiB",
            "Initializing heap allocator on unified device memory of size 1024.00 MiB",
        ]
    );
    let block = rig.take(1000);
    assert_eq!(
        rig.take_lines(),
        [
            "Allocated shared heap #1 of size 8.00 MiB (#heaps: 1, current allocated: 8.00 MiB)".to_owned(),
            format!(
                "Allocated shared buffer #1 of size 1024 bytes at {block:p} from heap #1 (offset: 0 bytes, heap free: 8.00 \
                 MiB, total: 8.00 MiB)"
            ),
        ]
    );
    rig.give(block);
    rig.take(1000);
    assert_eq!(
        rig.take_lines(),
        [format!(
            "Reusing shared buffer #1 of size 1024 bytes at {block:p} (requested: 1000 bytes, use#: 2, retain#: 1)"
        )]
    );
    rig.give(block);
    rig.empty_cache();
    assert_eq!(
        rig.take_lines(),
        [
            "Attempting to release cached buffers (MPS allocated: 8.00 MiB, other allocations: 0 bytes)",
            "Released buffer of size 1024 bytes from heap #1 (use#: 2, retain#: 1)",
            "Released heap #1 of size 8.00 MiB (current allocated: 0 bytes, retain#: 1)",
        ]
    );
    rig.allocator.set_high_watermark_ratio(0.0).expect("in range");
    rig.allocator.set_low_watermark_ratio(0.0).expect("in range");
    assert_eq!(
        rig.take_lines(),
        ["High watermark memory allocation limit: unlimited", "Low watermark memory allocation limit: unlimited"]
    );
    let scalar = rig.try_take(4, Usage::Scalar).expect("memory for the test");
    assert!(
        rig.take_lines()[1].starts_with(&format!("Allocated shared scalar buffer #2 of size 256 bytes at {scalar:p}"))
    );
}

#[test]
fn large_only_hides_buffers_of_small_pools_but_not_heaps() {
    let rig = Rig::with(|options| options.verbosity = Verbosity::ALLOCATIONS | Verbosity::LARGE_ONLY);
    rig.take(1);
    rig.take(2 * MIB);
    let lines = rig.take_lines();
    let starts: Vec<_> = lines.iter().map(|line| line.split(" of size").next().expect("a part")).collect();
    assert_eq!(starts, ["Allocated shared heap #1", "Allocated shared heap #2", "Allocated shared buffer #2"]);
}

#[test]
fn garbage_collection_says_how_much() {
    let rig = Rig::with(|options| {
        (options.recommended_max_bytes, options.low_watermark_ratio) = (4 << 30, 0.25);
        options.verbosity = Verbosity::RELEASES;
    });
    let blocks = [rig.take(1000 * MIB), rig.take(600 * MIB)];
    blocks.into_iter().for_each(|block| rig.give(block));
    rig.take(1200 * MIB);
    assert_eq!(
        rig.take_lines(),
        [
            "Released buffer of size 1008.00 MiB from heap #1 (use#: 1, retain#: 1)",
            "Released heap #1 of size 1008.00 MiB (current allocated: 608.00 MiB, retain#: 1)",
            "Garbage collected 1008.00 MiB from shared pool (target: 592.00 MiB, #heaps: 1)",
        ]
    );
}
