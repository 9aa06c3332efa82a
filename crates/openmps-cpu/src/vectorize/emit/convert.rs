//! Vectors of bfloat as float and back, in integers: LLVM 22 calls a function for each lane where the CPU cannot do it.

use openmps_llvm::{FloatPredicate, Value};

use super::{Emitter, WIDTH};

impl<'m> Emitter<'_, 'm> {
    /// Exact.
    pub(super) fn extend_bfloat(&self, lanes: Value<'m>) -> Value<'m> {
        let (b, context) = (&self.builder, self.context());
        let (short, int) = (context.vector(context.i16(), WIDTH), context.vector(context.i32(), WIDTH));
        let bits = b.zext(b.bitcast(lanes, short), int);
        let bits = b.shl(bits, self.splat_int(context.i32(), 16));
        b.bitcast(bits, context.vector(context.float(), WIDTH))
    }

    /// To nearest, ties to even; NaN stays a quiet NaN.
    pub(super) fn round_to_bfloat(&self, lanes: Value<'m>) -> Value<'m> {
        let (b, context) = (&self.builder, self.context());
        let bfloat = context.vector(context.bfloat(), WIDTH);
        if self.features.bf16 {
            return b.fp_trunc(lanes, bfloat);
        }
        let (short, int) = (context.vector(context.i16(), WIDTH), context.vector(context.i32(), WIDTH));
        let bits = b.bitcast(lanes, int);
        let shift = self.splat_int(context.i32(), 16);
        let odd = b.and(b.lshr(bits, shift), self.splat_int(context.i32(), 1));
        let rounded = b.add(b.add(bits, self.splat_int(context.i32(), 0x7fff)), odd);
        let quiet = b.or(bits, self.splat_int(context.i32(), 0x0040_0000));
        let is_nan = b.fcmp(FloatPredicate::Uno, lanes, lanes);
        let rounded = b.select(is_nan, quiet, rounded);
        b.bitcast(b.trunc(b.lshr(rounded, shift), short), bfloat)
    }
}
