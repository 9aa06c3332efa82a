//! Functions that generated code calls. All of them are `extern "C"`, take and return plain words, and never unwind.

use std::borrow::Cow;
use std::cell::Cell;

use crate::float::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};
use crate::group;
use crate::lanes::LaneRequest;

/// Waits for all live threads of the threadgroup.
pub(crate) extern "C" fn barrier() {
    group::wait_at_barrier();
}

/// Takes part in a lane operation. `code` is `operation | element << 8 | count << 16 | width << 24`.
///
/// # Safety
/// `values` points to the words of the operation, on the calling fiber's stack or anywhere else that it may write.
pub(crate) unsafe extern "C" fn lane(site: u32, code: u32, operand: u32, modulo: u32, values: *mut u64) {
    let field = |shift: u32| code >> shift & 0xff;
    let (operation, element, count, width) = (field(0), field(8), field(16), field(24));
    let request = LaneRequest { site, operation, element, count, width, operand, modulo, values };
    // SAFETY: the code generator allocates the words that the operation reads and writes.
    unsafe { group::wait_at_lane_operation(request) };
}

/// The calling thread's lane in its SIMD-group.
pub(crate) extern "C" fn lane_index() -> u32 {
    group::current_lane()
}

/// The calling thread's number in its threadgroup.
pub(crate) extern "C" fn thread_index() -> u32 {
    group::current_thread()
}

thread_local! {
    /// Why the launch that runs on this thread has failed, if it has.
    static TRAPPED: Cell<Option<Cow<'static, str>>> = const { Cell::new(None) };
}

/// What the deepest copy of a recursive function calls (`RECURSION_TRAP` of `openmps-air`).
pub(crate) extern "C" fn trap() {
    trap_with("functions call each other more deeply than they are compiled for");
}

/// What a call of a function in a visible function table has become: this engine links no functions.
pub(crate) extern "C" fn trap_table() {
    trap_with("it calls a function of a visible function table, which has none");
}

/// Makes the launch that runs on this thread fail when its threadgroups have run. The kernel goes on with zero, so that no
/// frame has to be left.
pub(crate) fn trap_with(reason: impl Into<Cow<'static, str>>) {
    TRAPPED.set(Some(reason.into()));
}

/// The reason of the last [`trap_with`] on this thread since the last time that somebody asked.
pub(crate) fn take_trap() -> Option<Cow<'static, str>> {
    TRAPPED.take()
}

fn low_half(value: f32) -> u16 {
    let [a, b, _, _] = value.to_bits().to_le_bytes();
    u16::from_le_bytes([a, b])
}

fn in_low_half(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits))
}

/// `__extendhfsf2`: half and bfloat travel in the low 16 bits of an SSE register, as the psABI says.
pub(crate) extern "C" fn extend_f16(value: f32) -> f32 {
    f16_to_f32(low_half(value))
}

/// `__truncsfhf2`.
pub(crate) extern "C" fn truncate_f16(value: f32) -> f32 {
    in_low_half(f32_to_f16(value))
}

/// `__extendbfsf2`.
pub(crate) extern "C" fn extend_bf16(value: f32) -> f32 {
    bf16_to_f32(low_half(value))
}

/// `__truncsfbf2`.
pub(crate) extern "C" fn truncate_bf16(value: f32) -> f32 {
    in_low_half(f32_to_bf16(value))
}

/// The x86-64 control word of SSE: how floating-point code of this thread treats subnormals.
pub(crate) struct FlushDenormals {
    saved: u32,
}

/// MXCSR bits: flush to zero (15) and denormals are zero (6).
const FLUSH_BITS: u32 = 1 << 15 | 1 << 6;

impl FlushDenormals {
    /// Makes subnormal operands and results zero on this thread until dropped, as Apple GPUs have them.
    pub(crate) fn enter() -> Self {
        let mut saved = 0_u32;
        // SAFETY: stores the control register to a local.
        unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut saved, options(nostack)) };
        load_mxcsr(saved | FLUSH_BITS);
        Self { saved }
    }
}

impl Drop for FlushDenormals {
    fn drop(&mut self) {
        load_mxcsr(self.saved);
    }
}

fn load_mxcsr(value: u32) {
    // SAFETY: changes rounding of subnormals only; the old value or the two bits above are valid. Rust code that runs
    // meanwhile (references, the scheduler) does not depend on subnormal floats beyond what the kernel asked for.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack, readonly)) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subnormals_vanish_only_inside() {
        let tiny = std::hint::black_box(f32::from_bits(1 << 20));
        {
            let _flush = FlushDenormals::enter();
            assert_eq!(std::hint::black_box(tiny) * std::hint::black_box(1.0), 0.0);
        }
        assert_ne!(std::hint::black_box(tiny) * std::hint::black_box(1.0), 0.0);
    }
}
