//! The protocol of the engine's worker pool, run by loom in every order that the memory model allows.
//!
//! `launch.rs` and `worker.rs` are the files of `openmps-cpu` themselves; `sync.rs` here stands in for its own. Checked are that
//! every chunk runs once and before the launch returns, that the caller's closure is read by nobody outside of its launch,
//! also by a worker that comes late, and that no announcement is slept through. Left out: starting workers and forks.

#[cfg(test)]
#[path = "../../openmps-cpu/src/pool/launch.rs"]
mod launch;
#[cfg(test)]
mod sync;
#[cfg(test)]
#[expect(dead_code, reason = "a worker's life has no end; each of its turns is modelled")]
#[path = "../../openmps-cpu/src/pool/worker.rs"]
mod worker;

/// As in the pool.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wake {
    Everyone,
    Nobody,
}

#[cfg(test)]
mod tests;
