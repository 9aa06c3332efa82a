//! Integer division of vectors: no CPU's vector unit has it.
//!
//! 32 bits and fewer go through `f64`, whose quotient truncates exactly: operands have at most 32 bits, and a quotient that is no
//! integer is further from one than the rounding error. By a divisor that all lanes share it is a multiplication with the
//! reciprocal, rounded up a little: with `r = (1 + 2^-50) / d` the product exceeds the quotient by less than `2^-49` of it, less
//! than the distance `1 / d` of a fraction from the next integer while operands are below `2^32`. 64 bits do the same when all
//! operands have 32 bits, found at run time; else one division a lane.

use openmps_llvm::{BinaryOp, Instruction, IntPredicate, Value};

use super::super::refusal::Refusal;
use super::{Emitter, WIDTH};

impl<'m> Emitter<'_, 'm> {
    pub(super) fn division(&mut self, instruction: Instruction<'m>, op: BinaryOp) -> Result<Value<'m>, Refusal> {
        let (dividend, divisor) = (instruction.operand(0), instruction.operand(1));
        let bits = instruction.ty().int_bits().ok_or(Refusal::CompositeValue)?;
        let (dividends, mut divisors) = (self.vector(dividend)?, self.vector(divisor)?);
        if divisor.as_const_int().is_some() {
            return Ok(self.builder.binary(op, dividends, divisors));
        }
        if let Some(mask) = self.mask {
            let one = self.splat_int(instruction.ty(), 1);
            divisors = self.builder.select(mask, divisors, one);
        }
        if bits > 64 {
            return Err(Refusal::Instruction);
        }
        if bits > 32 {
            return self.wide_division(op, dividends, divisors);
        }
        let shared = self.analysis.shape(divisor).is_uniform().then(|| self.scalar(divisor));
        Ok(self.through_double(op, dividends, divisors, shared))
    }

    /// Operands of at most 32 significant bits. `shared` is the divisor where lanes share it.
    fn through_double(
        &self,
        op: BinaryOp,
        dividends: Value<'m>,
        divisors: Value<'m>,
        shared: Option<Value<'m>>,
    ) -> Value<'m> {
        let (b, context) = (&self.builder, self.context());
        let is_signed = matches!(op, BinaryOp::SDiv | BinaryOp::SRem);
        let doubles = context.vector(context.double(), WIDTH);
        let convert = |value, ty| if is_signed { b.si_to_fp(value, ty) } else { b.ui_to_fp(value, ty) };
        let quotients = match shared {
            Some(divisor) => {
                let above_one = context.double().const_float(1.0 + f64::EPSILON * 4.0);
                let reciprocal = b.fdiv(above_one, convert(divisor, context.double()));
                b.fmul(convert(dividends, doubles), self.splat(reciprocal))
            }
            None => b.fdiv(convert(dividends, doubles), convert(divisors, doubles)),
        };
        let ty = dividends.ty();
        let quotients = if is_signed { b.fp_to_si(quotients, ty) } else { b.fp_to_ui(quotients, ty) };
        match op {
            BinaryOp::URem | BinaryOp::SRem => b.sub(dividends, b.mul(quotients, divisors)),
            _ => quotients,
        }
    }

    fn wide_division(&mut self, op: BinaryOp, dividends: Value<'m>, divisors: Value<'m>) -> Result<Value<'m>, Refusal> {
        let context = self.context();
        let narrow = context.vector(context.i32(), WIDTH);
        // A lane that does not run has any dividend.
        let dividends = match self.mask {
            None => dividends,
            Some(mask) => self.builder.select(mask, dividends, dividends.ty().zero()),
        };
        let both = self.builder.or(dividends, divisors);
        let reduced = self.builder.intrinsic("llvm.vector.reduce.or", &[both.ty()], &[both]).as_value();
        // Non-negative numbers of 31 bits are the same signed and unsigned.
        let most = reduced.ty().const_int(0x7fff_ffff);
        let is_short = self.builder.icmp(IntPredicate::Ule, reduced, most);
        let [short, long, done] = ["short", "long", "divided"].map(|name| self.block(name));
        self.builder.cond_br(is_short, short, long);
        self.builder.position_at_end(short);
        let (a, d) = (self.builder.trunc(dividends, narrow), self.builder.trunc(divisors, narrow));
        let unsigned = match op {
            BinaryOp::SDiv | BinaryOp::UDiv => BinaryOp::UDiv,
            _ => BinaryOp::URem,
        };
        let from_short = self.through_double(unsigned, a, d, None);
        let from_short = self.builder.zext(from_short, dividends.ty());
        self.builder.br(done);
        self.builder.position_at_end(long);
        let from_long = self.lane_loop(&[dividends, divisors], Some(dividends.ty()), |emitter, operands| {
            Ok(Some(emitter.builder.binary(op, operands[0], operands[1])))
        })?;
        let from_long = from_long.expect("a division has a result");
        let long_end = self.builder.block().expect("the builder is placed");
        self.builder.br(done);
        self.builder.position_at_end(done);
        let result = self.builder.phi(dividends.ty());
        result.add_incoming(from_short, short);
        result.add_incoming(from_long, long_end);
        Ok(result.as_value())
    }
}
