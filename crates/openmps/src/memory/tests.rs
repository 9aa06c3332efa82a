//! The allocator's rules, one by one, on a clock that the test turns.

mod counters;
mod process;
mod properties;
mod reuse;
mod streams;
mod texts;
mod threads;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use super::rig::{HandClock, RECOMMENDED, Rig, options};
use super::*;
use crate::limits::MIB;

impl Rig {
    fn new() -> Rig {
        Rig::with(|_| ())
    }

    fn take(&self, bytes: u64) -> NonNull<u8> {
        self.try_take(bytes, Usage::Device).expect("memory for the test")
    }

    fn id(&self, address: NonNull<u8>) -> u64 {
        self.block(address).id
    }

    fn take_lines(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines.lock().expect("no test panics here"))
    }
}

fn offset(from: NonNull<u8>, to: NonNull<u8>) -> u64 {
    region::address_of(to.as_ptr()) - region::address_of(from.as_ptr())
}
