//! Private memory of threads: which variables can be laid out lane by lane.
//!
//! A variable whose accesses all have one size is laid out element by element: element `i` of all lanes side by side. An access at
//! an index that all lanes share is then an access of consecutive memory. Byte `b` of a lane's variable lies `b * 32` bytes from
//! the start, plus the lane times the size of an element. Others keep one whole variable a lane, one behind the other.

use std::collections::HashMap;

use openmps_llvm::{Function, Instruction, Module, Opcode, Ordering, PlainOp, Value};

use super::transfer::{Step, steps};

/// Most elements that filling such a variable may have: a masked fill writes them one by one.
const FILLED_ELEMENTS_MAX: u64 = 128;

/// Variables in the layout by elements, and addresses inside of them.
#[derive(Default)]
pub(super) struct PrivateMemory<'m> {
    /// Bytes of an element, by the variable or an address made from it.
    element_bytes: HashMap<Value<'m>, u64>,
}

impl<'m> PrivateMemory<'m> {
    pub(super) fn find(module: &Module<'m>, function: Function<'m>) -> Self {
        let mut found = Self::default();
        for alloca in function.instructions().into_iter().filter(|it| it.opcode().is(PlainOp::Alloca)) {
            let mut uses = Uses { module, element_bytes: None, addresses: vec![alloca.as_value()] };
            if !uses.fit(alloca.as_value()) {
                continue;
            }
            let Some(bytes) = uses.element_bytes else { continue };
            let size = alloca.allocated_type().map_or(0, |ty| module.size_bytes(ty));
            if size.is_multiple_of(bytes) && uses.steps_fit(bytes) {
                found.element_bytes.extend(uses.addresses.iter().map(|&address| (address, bytes)));
            }
        }
        found
    }

    /// Whether `pointer` is such a variable or points into one.
    pub(super) fn contains(&self, pointer: Value<'m>) -> bool {
        self.element_bytes.contains_key(&pointer)
    }

    /// Bytes of an element at `pointer`.
    pub(super) fn element_bytes(&self, pointer: Value<'m>) -> Option<u64> {
        self.element_bytes.get(&pointer).copied()
    }

    /// Of a value that is such an address: whether it differs between lanes, as far as `varies` knows its operands.
    pub(super) fn address(&self, value: Value<'m>, varies: impl Fn(Value<'m>) -> Option<bool>) -> Option<Option<bool>> {
        if !self.contains(value) {
            return None;
        }
        let instruction = value.as_instruction()?;
        if instruction.opcode().is(PlainOp::Alloca) {
            return Some(Some(false));
        }
        let mut unknown = false;
        for operand in instruction.operands() {
            match varies(operand) {
                Some(true) => return Some(Some(true)),
                Some(false) => {}
                None => unknown = true,
            }
        }
        Some((!unknown).then_some(false))
    }
}

/// The uses of one variable.
struct Uses<'a, 'm> {
    module: &'a Module<'m>,
    element_bytes: Option<u64>,
    addresses: Vec<Value<'m>>,
}

impl<'m> Uses<'_, 'm> {
    /// Whether every use of `pointer` is an access of one size or an address of which that holds.
    fn fit(&mut self, pointer: Value<'m>) -> bool {
        pointer.users().into_iter().all(|user| user.as_instruction().is_some_and(|user| self.fits(pointer, user)))
    }

    fn fits(&mut self, pointer: Value<'m>, user: Instruction<'m>) -> bool {
        match user.opcode() {
            Opcode::Plain(PlainOp::Load) => self.is_access(user, user.as_value()),
            Opcode::Plain(PlainOp::Store) => user.operand(0) != pointer && self.is_access(user, user.operand(0)),
            Opcode::Plain(PlainOp::GetElementPtr) => {
                self.addresses.push(user.as_value());
                user.operand(0) == pointer && self.fit(user.as_value())
            }
            Opcode::Plain(PlainOp::Call) => {
                let name = user.called_function().map(|function| function.name()).unwrap_or_default();
                name.starts_with("llvm.lifetime.") || (name.starts_with("llvm.memset.") && self.is_fill(user))
            }
            Opcode::Binary(_) | Opcode::Cast(_) | Opcode::Plain(_) => false,
        }
    }

    fn is_access(&mut self, access: Instruction<'m>, value: Value<'m>) -> bool {
        let bytes = self.module.size_bytes(value.ty());
        let bits = value.ty().int_bits().map_or(bytes * 8, u64::from);
        let is_plain = value.ty().lanes() == 1
            && value.ty().fields().is_empty()
            && access.ordering().is_none_or(|ordering| ordering == Ordering::NotAtomic);
        is_plain && bits == bytes * 8 && bytes <= 8 && *self.element_bytes.get_or_insert(bytes) == bytes
    }

    /// Only constant fills; their length is checked when the size of an element is known.
    fn is_fill(&self, call: Instruction<'m>) -> bool {
        call.operand(1).as_const_int().is_some() && call.operand(2).as_const_int().is_some()
    }

    fn steps_fit(&self, bytes: u64) -> bool {
        let fills = self.addresses.iter().flat_map(|address| address.users());
        let fills = fills.filter_map(Value::as_instruction).filter(|user| user.opcode().is(PlainOp::Call));
        let lengths = fills.filter_map(|call| call.arguments().get(2).copied()?.as_const_int());
        let mut lengths = lengths.filter(|&length| length > 0);
        lengths.all(|length| length.is_multiple_of(bytes) && length / bytes <= FILLED_ELEMENTS_MAX)
            && self.addresses.iter().filter_map(|address| address.as_instruction()).all(|address| {
                if address.opcode().is(PlainOp::Alloca) {
                    return true;
                }
                steps(self.module, address).is_some_and(|steps| {
                    steps.into_iter().all(|step| match step {
                        Step::Field(offset) => offset.is_multiple_of(bytes),
                        Step::Index(index, size) => match index.as_const_int() {
                            Some(constant) => constant.wrapping_mul(size).is_multiple_of(bytes),
                            None => size.is_multiple_of(bytes),
                        },
                    })
                })
            })
    }
}
