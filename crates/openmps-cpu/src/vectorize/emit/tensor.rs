//! Products and convolutions of tensors: one call of the runtime for a SIMD-group.

use openmps_llvm::{Function, Instruction, Value};

use super::super::refusal::Refusal;
use super::{Emitter, WIDTH};
use crate::abi::offset;
use crate::tensor::request::{Form, Operation};

/// The function that a thread takes part in an operation with.
pub(super) const TENSOR_OPERATION: &str = "openmps_tensor_operate";
/// The function that a SIMD-group does.
const OF_LANES: &str = "openmps_tensor_operate_lanes";
/// Pointers that each lane hands over.
const POINTERS: u64 = 5;

impl<'m> Emitter<'_, 'm> {
    /// Hands each lane's pointers to the runtime.
    pub(super) fn tensor_operation(&mut self, call: Instruction<'m>) -> Result<(), Refusal> {
        let arguments = call.arguments();
        let [code, other_kinds, threads, pointers @ ..] = &arguments[..] else { return Err(Refusal::Instruction) };
        self.check_tensor_scope(*code, *threads)?;
        let function = self.lanes_function();
        let lanes_ty = self.context().vector(self.context().pointer(0), WIDTH);
        let memory = self.scratch(self.context().array(lanes_ty, POINTERS));
        let bytes = self.module.size_bytes(lanes_ty);
        for (number, &pointer) in (0..).zip(pointers) {
            let lanes = self.vector(pointer)?;
            self.builder.store(lanes, self.builder.byte_offset(memory, number * bytes));
        }
        let other_kinds = self.any_bits(*other_kinds)?;
        let first = self.function.parameters()[4];
        let count = self.threads_per_threadgroup();
        let active = self.bits(self.active());
        let operands = [*code, other_kinds, *threads, first, count, active, memory];
        self.builder.call(function, &operands);
        Ok(())
    }

    /// The runtime's function; nobody has called it before.
    fn lanes_function(&self) -> Function<'m> {
        let (word, context) = (self.context().i32(), self.context());
        let ty = context.function(context.void(), &[word, word, word, word, word, word, context.pointer(0)]);
        self.module.function(OF_LANES).unwrap_or_else(|| self.module.add_function(OF_LANES, ty))
    }

    /// Refuses products whose factors several SIMD-groups hold together, and scopes of different sizes.
    fn check_tensor_scope(&self, code: Value<'m>, threads: Value<'m>) -> Result<(), Refusal> {
        let code = code.as_const_int().and_then(|code| u32::try_from(code).ok());
        let operation = code.and_then(Operation::of_code).ok_or(Refusal::Instruction)?;
        let is_one = threads.as_const_int().is_some_and(|threads| threads <= u64::from(WIDTH));
        let is_known = match operation.form {
            Form::Cooperative => is_one,
            Form::IntoCooperative | Form::IntoTensor | Form::Convolution => threads.as_const_int().is_some(),
        };
        if is_known { Ok(()) } else { Err(Refusal::NeedsFibers) }
    }

    /// The bits that are set on any active lane.
    fn any_bits(&mut self, number: Value<'m>) -> Result<Value<'m>, Refusal> {
        if self.analysis.shape(number).is_uniform() {
            return Ok(self.scalar(number));
        }
        let lanes = self.vector(number)?;
        let own = self.builder.select(self.active(), lanes, lanes.ty().zero());
        Ok(self.builder.intrinsic("llvm.vector.reduce.or", &[own.ty()], &[own]).as_value())
    }

    /// As the context says.
    fn threads_per_threadgroup(&self) -> Value<'m> {
        let (b, context) = (&self.builder, self.function.parameters()[0]);
        let size = |axis: u64| b.load(self.context().i32(), b.byte_offset(context, offset::SIZE + 4 * axis)).as_value();
        b.mul(b.mul(size(0), size(1)), size(2))
    }
}
