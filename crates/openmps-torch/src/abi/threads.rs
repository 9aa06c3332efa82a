//! How many threads kernels use: as many as ATen's ops do (`torch.set_num_threads`).

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};

use super::abi;

/// Tells how many threads an op of ATen would use now.
pub type ThreadCount = extern "C" fn() -> i32;

static SOURCE: OnceLock<ThreadCount> = OnceLock::new();

abi! {
    /// Where the number of threads comes from; the first source stays.
    fn openmps_set_thread_count_source(source: ThreadCount) {
        SOURCE.get_or_init(|| source);
        Ok(())
    }
}

/// Lets kernels that start from now on use as many threads as the source says; without one the engine's own number stays.
pub fn follow() {
    static LAST: AtomicI32 = AtomicI32::new(0);
    let Some(source) = SOURCE.get() else { return };
    let count = source();
    if LAST.swap(count, Ordering::Relaxed) != count {
        openmps::kernel::use_threads(usize::try_from(count).unwrap_or(0));
    }
}
