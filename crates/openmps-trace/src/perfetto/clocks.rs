//! Times of packets on one clock.
//!
//! A packet tells its time on `CLOCK_BOOTTIME`, on another clock that a snapshot relates to it, or on a clock of its sequence,
//! which may count in other units and from packet to packet.

use std::collections::HashMap;

use super::message::{Clock, ClockSnapshot};

/// `BuiltinClock.BUILTIN_CLOCK_BOOTTIME`.
const BOOTTIME: u32 = 6;
/// Clocks from this number on belong to a sequence.
const OF_SEQUENCE: u32 = 64;

/// A clock as the newest snapshot tells.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// What to add to its nanoseconds; differences may be negative.
    to_boot_ns: i128,
    unit_ns: u64,
    /// The time of the newest packet, for clocks that count from packet to packet.
    last: Option<u64>,
}

/// All clocks.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    known: HashMap<(u32, u32), Known>,
}

fn key(sequence: u32, clock: u32) -> (u32, u32) {
    (if clock >= OF_SEQUENCE { sequence } else { 0 }, clock)
}

impl Clocks {
    pub(super) fn snapshot(&mut self, sequence: u32, snapshot: &ClockSnapshot) {
        let unit = |clock: &Clock| clock.unit_multiplier_ns.filter(|unit| *unit > 0).unwrap_or(1);
        let ns = |clock: &Clock| i128::from(clock.timestamp) * i128::from(unit(clock));
        let Some(boot) = snapshot.clocks.iter().find(|clock| clock.clock_id == BOOTTIME) else { return };
        for clock in &snapshot.clocks {
            let known = Known {
                to_boot_ns: ns(boot) - ns(clock),
                unit_ns: unit(clock),
                last: clock.is_incremental.unwrap_or(false).then_some(clock.timestamp),
            };
            self.known.insert(key(sequence, clock.clock_id), known);
        }
    }

    /// `timestamp` on `clock` in nanoseconds of `CLOCK_BOOTTIME`; as it is where nothing is known of the clock.
    pub(super) fn boot_ns(&mut self, sequence: u32, clock: Option<u32>, timestamp: u64) -> u64 {
        let Some(clock) = clock.filter(|clock| *clock != BOOTTIME) else { return timestamp };
        let Some(known) = self.known.get_mut(&key(sequence, clock)) else { return timestamp };
        let units = match &mut known.last {
            Some(last) => {
                *last = last.saturating_add(timestamp);
                *last
            }
            None => timestamp,
        };
        let ns = i128::from(units) * i128::from(known.unit_ns) + known.to_boot_ns;
        u64::try_from(ns.max(0)).unwrap_or(u64::MAX)
    }
}
