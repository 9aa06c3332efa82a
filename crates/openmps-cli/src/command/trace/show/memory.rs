//! Memory over time: all blocks by pool, heaps, limits.

use std::collections::HashMap;

use openmps_trace::{Capture, MemoryEventKind, MemoryPool};
use serde::Serialize;

/// Points of the curves that a page holds at most.
const POINTS_MAX: usize = 5000;

/// The curves; all lists have one length.
#[derive(Default, Serialize)]
pub(super) struct Memory {
    times: Vec<u64>,
    current: Vec<u64>,
    driver: Vec<u64>,
    /// The most in blocks since the program's start; traces have it.
    peak: Vec<u64>,
    pools: Pools,
    high: Option<u64>,
    low: Option<u64>,
    recommended: u64,
    allocations: u64,
    allocated: u64,
    frees: u64,
}

/// Bytes in blocks by pool; those from before the capture are of no known pool.
#[derive(Default, Serialize)]
struct Pools {
    base: Vec<u64>,
    small: Vec<u64>,
    large: Vec<u64>,
    scalar: Vec<u64>,
}

/// Bytes now.
#[derive(Clone, Copy)]
struct Now {
    base: u64,
    pools: [u64; 3],
}

fn place(pool: MemoryPool) -> usize {
    match pool {
        MemoryPool::Small => 0,
        MemoryPool::Large => 1,
        MemoryPool::Scalar => 2,
    }
}

impl Memory {
    /// The curves of `capture`, thinned out where there are too many points.
    pub(super) fn of_capture(capture: &Capture) -> Self {
        let start = capture.header().memory;
        let mut memory = Self {
            high: start.high_limit_bytes,
            low: start.low_limit_bytes,
            recommended: start.recommended_max_bytes,
            ..Self::default()
        };
        let mut now = Now { base: start.current_bytes, pools: [0; 3] };
        let mut live: HashMap<u64, (MemoryPool, u64)> = HashMap::new();
        memory.push(0, start.current_bytes, start.driver_bytes, now);
        let events = capture.memory();
        let step = events.len().div_ceil(POINTS_MAX).max(1);
        for (number, event) in events.iter().enumerate() {
            match event.kind {
                MemoryEventKind::Allocate => {
                    live.insert(event.address, (event.pool, event.size_bytes));
                    now.pools[place(event.pool)] += event.size_bytes;
                    memory.allocations += 1;
                    memory.allocated = memory.allocated.saturating_add(event.size_bytes);
                }
                MemoryEventKind::Free => {
                    memory.frees += 1;
                    match live.remove(&event.address) {
                        Some((pool, size)) => now.pools[place(pool)] -= size.min(now.pools[place(pool)]),
                        None => now.base = now.base.saturating_sub(event.size_bytes),
                    }
                }
            }
            if number % step == 0 || number + 1 == events.len() {
                memory.push(event.time_ns, event.current_bytes, event.driver_bytes, now);
            }
        }
        if memory.times.len() == 1 && start.driver_bytes == 0 {
            memory = Self { high: memory.high, low: memory.low, recommended: memory.recommended, ..Self::default() };
        }
        memory
    }

    /// Curves of what counters tell: times with bytes in blocks, in heaps and at most in blocks, by pool, and both limits. What
    /// is of no known pool is the base.
    pub(super) fn of_counters(rows: &[(u64, [Option<u64>; 8])]) -> Self {
        let limit = |place: usize| rows.last().and_then(|(_, values)| values[place]);
        let mut memory = Self { low: limit(6), high: limit(7), ..Self::default() };
        let step = rows.len().div_ceil(POINTS_MAX).max(1);
        for (number, (time_ns, values)) in rows.iter().enumerate() {
            if number % step == 0 || number + 1 == rows.len() {
                let [current, driver, peak, small, large, scalar, ..] = values.map(Option::unwrap_or_default);
                let pools = [small, large, scalar];
                let base = pools.iter().fold(current, |rest, pool| rest.saturating_sub(*pool));
                memory.push(*time_ns, current, driver, Now { base, pools });
                memory.peak.push(peak);
            }
        }
        memory
    }

    fn push(&mut self, time_ns: u64, current: u64, driver: u64, now: Now) {
        self.times.push(time_ns);
        self.current.push(current);
        self.driver.push(driver);
        self.pools.base.push(now.base);
        self.pools.small.push(now.pools[0]);
        self.pools.large.push(now.pools[1]);
        self.pools.scalar.push(now.pools[2]);
    }
}
