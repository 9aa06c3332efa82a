//! Calls: LLVM's intrinsics on vectors, everything else once for each active lane.

use openmps_llvm::{Instruction, PlainOp, TypeKind, Value};

use super::super::marker::{LANE_INDEX, MATRIX_LOAD, MATRIX_STORE, Marker, OUTER_PREFIX};
use super::super::refusal::Refusal;
use super::super::shape::Shape;
use super::super::transfer::is_pure;
use super::tensor::TENSOR_OPERATION;
use super::{Emitter, WIDTH};
use crate::split::MARKER;

/// Intrinsics without code.
const IGNORED: [&str; 6] = [
    "llvm.assume",
    "llvm.dbg",
    "llvm.experimental.noalias.scope.decl",
    "llvm.invariant",
    "llvm.lifetime",
    "llvm.sideeffect",
];

/// Intrinsics whose vector form computes each lane by itself with the same types, and how many operands from the front are vectors;
/// the others are constants.
fn vector_operands(name: &str) -> Option<u32> {
    Some(match name {
        "llvm.abs" | "llvm.ctlz" | "llvm.cttz" => 1,
        "llvm.bitreverse" | "llvm.bswap" | "llvm.canonicalize" | "llvm.ceil" | "llvm.ctpop" | "llvm.fabs"
        | "llvm.floor" | "llvm.nearbyint" | "llvm.rint" | "llvm.round" | "llvm.roundeven" | "llvm.sqrt"
        | "llvm.trunc" => 1,
        "llvm.copysign" | "llvm.maximum" | "llvm.maximumnum" | "llvm.maxnum" | "llvm.minimum" | "llvm.minimumnum"
        | "llvm.minnum" | "llvm.sadd.sat" | "llvm.smax" | "llvm.smin" | "llvm.sshl.sat" | "llvm.ssub.sat"
        | "llvm.uadd.sat" | "llvm.umax" | "llvm.umin" | "llvm.ushl.sat" | "llvm.usub.sat" => 2,
        "llvm.fma" | "llvm.fmuladd" | "llvm.fshl" | "llvm.fshr" => 3,
        _ => return None,
    })
}

impl<'m> Emitter<'_, 'm> {
    pub(super) fn call(&mut self, call: Instruction<'m>) -> Result<(), Refusal> {
        let function = call.called_function().ok_or(Refusal::Instruction)?;
        let name = function.name();
        if IGNORED.iter().any(|ignored| name.starts_with(ignored)) {
            return Ok(());
        }
        if name == MARKER {
            // Written where the block ends.
            return Ok(());
        }
        if name == LANE_INDEX {
            self.set_scalar(call.as_value(), call.ty().zero());
            return Ok(());
        }
        if let Some(marker) = Marker::parse(&name) {
            return self.lane_operation(call, marker);
        }
        if name.starts_with(MATRIX_LOAD) {
            return self.matrix_load(call);
        }
        if name.starts_with(MATRIX_STORE) {
            return self.matrix_store(call);
        }
        if name == TENSOR_OPERATION {
            return self.tensor_operation(call);
        }
        if name.starts_with(OUTER_PREFIX) {
            return self.outer_operation(call, &name);
        }
        if !function.is_declaration() {
            return Err(Refusal::Recursion);
        }
        let intrinsic = function.intrinsic_name();
        let arguments = call.arguments();
        if arguments.iter().any(|argument| self.analysis.private.contains(*argument)) {
            return self.private_fill(call);
        }
        let shape = self.analysis.shape(call.as_value());
        if !call.ty().is_void() && shape == Shape::Uniform && (intrinsic.is_some() || is_pure(function)) {
            let operands: Vec<Value<'m>> = arguments.iter().map(|&argument| self.scalar(argument)).collect();
            let result = self.builder.call(function, &operands);
            self.copy_fast_math(result, call);
            self.set_scalar(call.as_value(), result.as_value());
            return Ok(());
        }
        let result = match intrinsic.as_deref() {
            Some(name) => self.intrinsic(call, name)?,
            None => None,
        };
        let result = match result {
            Some(result) => Some(result),
            None if call.ty().is_void() => {
                self.each_lane_or_void(call)?;
                None
            }
            None => Some(self.each_lane(call)?),
        };
        if let Some(result) = result {
            self.set_vector(call.as_value(), result);
        }
        Ok(())
    }

    pub(super) fn copy_fast_math(&self, to: Instruction<'m>, from: Instruction<'m>) {
        if to.can_have_fast_math() && from.can_have_fast_math() {
            to.set_fast_math(from.fast_math());
        }
    }

    /// The vector form of an intrinsic; none where it has none.
    fn intrinsic(&mut self, call: Instruction<'m>, name: &str) -> Result<Option<Value<'m>>, Refusal> {
        let arguments = call.arguments();
        if call.ty().is_void() || call.ty().lanes() > 1 || arguments.iter().any(|it| it.ty().lanes() > 1) {
            return if call.ty().is_void() { Ok(None) } else { Err(Refusal::CompositeValue) };
        }
        match name {
            "llvm.is.fpclass" => {
                let lanes = self.vector(arguments[0])?;
                let test = self.builder.intrinsic(name, &[lanes.ty()], &[lanes, arguments[1]]);
                return Ok(Some(test.as_value()));
            }
            "llvm.fptosi.sat" | "llvm.fptoui.sat" => {
                let lanes = self.vector(arguments[0])?;
                let ty = self.wide(call.ty())?;
                return Ok(Some(self.builder.intrinsic(name, &[ty, lanes.ty()], &[lanes]).as_value()));
            }
            _ => {}
        }
        let Some(count) = vector_operands(name) else { return Ok(None) };
        let mut operands = Vec::new();
        for (number, &argument) in (0..).zip(&arguments) {
            operands.push(if number < count { self.vector(argument)? } else { argument });
        }
        let is_bfloat = call.ty().kind() == TypeKind::BFloat;
        let as_bits = matches!(name, "llvm.fabs" | "llvm.copysign");
        if is_bfloat && !as_bits {
            let floats: Vec<Value<'m>> = operands.iter().map(|&lanes| self.extend_bfloat(lanes)).collect();
            let result = self.builder.intrinsic(name, &[floats[0].ty()], &floats);
            self.copy_fast_math(result, call);
            return Ok(Some(self.round_to_bfloat(result.as_value())));
        }
        let result = self.builder.intrinsic(name, &[operands[0].ty()], &operands);
        self.copy_fast_math(result, call);
        Ok(Some(result.as_value()))
    }

    /// A call or operation once for each active lane, with a result.
    pub(super) fn each_lane(&mut self, instruction: Instruction<'m>) -> Result<Value<'m>, Refusal> {
        let result = self.each_lane_or_void(instruction)?;
        result.ok_or(Refusal::Instruction)
    }

    fn each_lane_or_void(&mut self, instruction: Instruction<'m>) -> Result<Option<Value<'m>>, Refusal> {
        let is_call = instruction.opcode().is(PlainOp::Call);
        let operands = if is_call { instruction.arguments() } else { instruction.operands() };
        let mut lanes = Vec::new();
        for &operand in &operands {
            let is_shared = self.analysis.shape(operand).is_uniform();
            if !is_shared && operand.ty().lanes() > 1 {
                return Err(Refusal::CompositeValue);
            }
            lanes.push(if is_shared { self.scalar(operand) } else { self.vector(operand)? });
        }
        let is_void = instruction.ty().is_void();
        let result = if is_void { None } else { Some(self.wide(instruction.ty())?) };
        self.lane_loop_of(&lanes, &operands, result, &mut |emitter, operands| {
            if !is_call {
                let op = match instruction.opcode() {
                    openmps_llvm::Opcode::Binary(op) => op,
                    _ => return Err(Refusal::Instruction),
                };
                return Ok(Some(emitter.builder.binary(op, operands[0], operands[1])));
            }
            let function = instruction.called_function().ok_or(Refusal::Instruction)?;
            let call = emitter.builder.call(function, operands);
            emitter.copy_fast_math(call, instruction);
            Ok((!is_void).then(|| call.as_value()))
        })
    }

    /// `llvm.memset` of a private variable that is laid out lane by lane.
    fn private_fill(&mut self, call: Instruction<'m>) -> Result<(), Refusal> {
        let arguments = call.arguments();
        let bytes = self.analysis.private.element_bytes(arguments[0]).ok_or(Refusal::Instruction)?;
        let constants = arguments[1].as_const_int().zip(arguments[2].as_const_int());
        let (fill, length) = constants.ok_or(Refusal::Instruction)?;
        if self.analysis.shape(arguments[0]).is_varying() {
            return Err(Refusal::Instruction);
        }
        let start = self.scalar(arguments[0]);
        let Some(mask) = self.mask else {
            let size = self.context().i64().const_int(length * u64::from(WIDTH));
            self.builder.memset((start, 1), arguments[1], size);
            return Ok(());
        };
        let element = self.context().int(u32::try_from(bytes * 8).map_err(|_| Refusal::Instruction)?);
        let pattern = u64::from_le_bytes([u8::try_from(fill & 0xff).map_err(|_| Refusal::Instruction)?; 8]);
        let value = self.splat_int(element, pattern);
        for number in 0..length / bytes {
            let address = self.builder.byte_offset(start, number * bytes * u64::from(WIDTH));
            self.masked_private_store(value, address, mask);
        }
        Ok(())
    }
}
