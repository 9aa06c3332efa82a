//! Makes integer division total: no operands may stop the process.
//!
//! Metal leaves a division by zero, and the least integer by -1, without a defined result, but the kernel goes on. On x86 both
//! raise a signal, and LLVM may assume that neither happens. Here such a division is one by 1. Runs before anything optimizes,
//! and takes operands as they are: an undefined one is fixed first, so that it cannot be zero after all.

use openmps_llvm::{BinaryOp, Builder, Instruction, IntPredicate, Module, Opcode, Value};

/// Guards every integer division and remainder of `module`.
pub(super) fn run(module: &Module<'_>) {
    let builder = module.builder();
    for function in module.functions() {
        for instruction in function.instructions() {
            match instruction.opcode() {
                Opcode::Binary(BinaryOp::SDiv | BinaryOp::SRem) => guard(&builder, instruction, true),
                Opcode::Binary(BinaryOp::UDiv | BinaryOp::URem) => guard(&builder, instruction, false),
                Opcode::Binary(_) | Opcode::Cast(_) | Opcode::Plain(_) => {}
            }
        }
    }
}

fn guard<'m>(builder: &Builder<'m>, division: Instruction<'m>, is_signed: bool) {
    let [dividend, divisor] = division.operands()[..] else { unreachable!("a division has two operands") };
    if is_harmless(divisor) {
        return;
    }
    builder.position_before(division);
    let (dividend, divisor) = (builder.freeze(dividend), builder.freeze(divisor));
    let (zero, minus_one) = (divisor.ty().zero(), divisor.ty().all_ones());
    let one = builder.sub(zero, minus_one);
    let mut is_bad = builder.icmp(IntPredicate::Eq, divisor, zero);
    if is_signed {
        let least = builder.xor(minus_one, builder.lshr(minus_one, one));
        let is_least = builder.icmp(IntPredicate::Eq, dividend, least);
        let overflows = builder.and(is_least, builder.icmp(IntPredicate::Eq, divisor, minus_one));
        is_bad = builder.or(is_bad, overflows);
    }
    division.set_operand(0, dividend);
    division.set_operand(1, builder.select(is_bad, one, divisor));
}

/// Whether the divisor is a number for which every dividend has a quotient.
fn is_harmless(divisor: Value<'_>) -> bool {
    divisor.as_const_int_signed().is_some_and(|number| number != 0 && number != -1)
}
