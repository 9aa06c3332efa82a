//! Private memory of threads: which variables can be laid out lane by lane.
//!
//! A variable whose accesses all have one size is laid out element by element: element `i` of all lanes side by side. An access at
//! an index that all lanes share is then an access of consecutive memory. Byte `b` of a lane's variable lies `b * 32` bytes from
//! the start, plus the lane times the size of an element. Others keep one whole variable a lane, one behind the other.
//!
//! Elements that no access can mean get no place. A `simdgroup_matrix` is 64 elements in AIR, of which a thread has two: an array of
//! them would spread over 8 KiB a matrix, where all lie in the same few sets of the cache.

use std::collections::{BTreeSet, HashMap};

use openmps_llvm::{Function, Instruction, Module, Opcode, Ordering, PlainOp, Value};

use super::transfer::{Step, steps};

/// Most elements that filling such a variable may have: a masked fill writes them one by one.
const FILLED_ELEMENTS_MAX: u64 = 128;

/// Variables in the layout by elements, and addresses inside of them.
#[derive(Default)]
pub(super) struct PrivateMemory<'m> {
    variables: Vec<Variable>,
    /// Where the variable and the addresses made from it point.
    addresses: HashMap<Value<'m>, Address>,
}

/// How one variable is laid out.
struct Variable {
    /// Bytes of an element.
    element_bytes: u64,
    /// Steps that are not constant are multiples of this.
    period: u64,
    /// Offsets in a period that are accessed, in order.
    used: Vec<u64>,
}

/// An address: the number of its variable and its constant part, in bytes of the source, modulo the period.
#[derive(Clone, Copy)]
struct Address {
    variable: usize,
    offset: u64,
}

impl Variable {
    /// Bytes that a period takes.
    fn kept_bytes(&self) -> u64 {
        self.kept_before(self.period)
    }

    /// Bytes that have a place among the first `offset` of a period.
    fn kept_before(&self, offset: u64) -> u64 {
        let count = self.used.partition_point(|&used| used < offset);
        count as u64 * self.element_bytes
    }
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
            if size > 0 && size.is_multiple_of(bytes) && uses.steps_fit(bytes) {
                found.add(&uses, bytes, size);
            }
        }
        found
    }

    /// The variable with these uses, of `size` bytes.
    fn add(&mut self, uses: &Uses<'_, 'm>, element_bytes: u64, size: u64) {
        let period = uses.period(size);
        let offsets = uses.offsets(period);
        let is_access =
            |user: Value<'m>| !user.as_instruction().is_some_and(|it| it.opcode().is(PlainOp::GetElementPtr));
        let used: BTreeSet<u64> = match uses.has_fills() {
            true => (0..period / element_bytes).map(|number| number * element_bytes).collect(),
            false => {
                let accessed = |address: &Value<'m>| address.users().into_iter().any(is_access);
                uses.addresses.iter().filter(|address| accessed(address)).map(|address| offsets[address]).collect()
            }
        };
        let variable = self.variables.len();
        self.variables.push(Variable { element_bytes, period, used: used.into_iter().collect() });
        self.addresses.extend(offsets.into_iter().map(|(address, offset)| (address, Address { variable, offset })));
    }

    fn variable(&self, pointer: Value<'m>) -> Option<&Variable> {
        self.addresses.get(&pointer).map(|address| &self.variables[address.variable])
    }

    /// Whether `pointer` is such a variable or points into one.
    pub(super) fn contains(&self, pointer: Value<'m>) -> bool {
        self.addresses.contains_key(&pointer)
    }

    /// Bytes of an element at `pointer`.
    pub(super) fn element_bytes(&self, pointer: Value<'m>) -> Option<u64> {
        self.variable(pointer).map(|variable| variable.element_bytes)
    }

    /// Bytes that a lane's part of `alloca`, in the source `size` bytes, takes.
    pub(super) fn size_bytes(&self, alloca: Value<'m>, size: u64) -> u64 {
        self.variable(alloca).map_or(size, |variable| size / variable.period * variable.kept_bytes())
    }

    /// The steps of such an address from the one that it is made from, in bytes of a lane's part as it is laid out.
    pub(super) fn steps(&self, module: &Module<'m>, address: Instruction<'m>) -> Option<Vec<Step<'m>>> {
        let from = self.addresses.get(&address.operand(0))?;
        let variable = &self.variables[from.variable];
        let (mut laid_out, mut constant) = (Vec::new(), from.offset.cast_signed());
        for step in steps(module, address)? {
            match constant_bytes(&step) {
                Some(bytes) => constant = constant.wrapping_add(bytes),
                None => {
                    let Step::Index(index, bytes) = step else { continue };
                    laid_out.push(Step::Index(index, bytes / variable.period * variable.kept_bytes()));
                }
            }
        }
        let period = variable.period.cast_signed();
        let whole = constant.div_euclid(period).wrapping_mul(variable.kept_bytes().cast_signed());
        let rest = variable.kept_before(constant.rem_euclid(period).cast_unsigned()).cast_signed();
        let before = variable.kept_before(from.offset).cast_signed();
        laid_out.push(Step::Field(whole.wrapping_add(rest).wrapping_sub(before).cast_unsigned()));
        Some(laid_out)
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

    fn has_fills(&self) -> bool {
        let users = self.addresses.iter().flat_map(|address| address.users()).filter_map(Value::as_instruction);
        let mut names = users.filter_map(|user| user.called_function()).map(|function| function.name());
        names.any(|name| name.starts_with("llvm.memset."))
    }

    /// Every address behind the variable itself, with its steps.
    fn derived(&self) -> impl Iterator<Item = (Instruction<'m>, Vec<Step<'m>>)> {
        let derived = self.addresses.iter().filter_map(|address| address.as_instruction());
        let derived = derived.filter(|address| address.opcode().is(PlainOp::GetElementPtr));
        derived.map(|address| (address, steps(self.module, address).unwrap_or_default()))
    }

    /// The largest number of bytes that divides `size` and every step that is not constant.
    fn period(&self, size: u64) -> u64 {
        let steps = self.derived().flat_map(|(_, steps)| steps);
        let sizes = steps.filter(|step| constant_bytes(step).is_none()).filter_map(|step| match step {
            Step::Index(_, bytes) => Some(bytes),
            Step::Field(_) => None,
        });
        sizes.fold(size, greatest_common_divisor)
    }

    /// The constant part of each address. Those that others are made from come first.
    fn offsets(&self, period: u64) -> HashMap<Value<'m>, u64> {
        let mut offsets = HashMap::from([(self.addresses[0], 0)]);
        for (address, steps) in self.derived() {
            let from: u64 = offsets.get(&address.operand(0)).copied().unwrap_or_default();
            let constant = steps.iter().filter_map(constant_bytes).fold(from.cast_signed(), i64::wrapping_add);
            let offset = constant.rem_euclid(period.cast_signed()).cast_unsigned();
            offsets.insert(address.as_value(), offset);
        }
        offsets
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

/// The bytes of a step that is constant.
fn constant_bytes(step: &Step<'_>) -> Option<i64> {
    match step {
        Step::Field(bytes) => Some(bytes.cast_signed()),
        Step::Index(index, size) => Some(index.as_const_int_signed()?.wrapping_mul(size.cast_signed())),
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use openmps_llvm::Context;

    use super::*;

    /// Runs `look` on the private memory of a function with `body`, and a way to find its values.
    fn with_memory(body: &str, look: impl Fn(&Module<'_>, &PrivateMemory<'_>, &dyn Fn(&str) -> String)) {
        let context = Context::new();
        let text = format!(
            "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\ndefine void @k(i64 %i) {{\n{body}\n  ret void\n}}"
        );
        let module = context.parse_ir(&text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
        let function = module.function("k").unwrap();
        let memory = PrivateMemory::find(&module, function);
        let find = |name: &str| {
            let mut instructions = function.instructions().into_iter();
            let value = instructions.find(|it| it.as_value().name() == name).unwrap();
            if let Some(ty) = value.allocated_type() {
                return format!("{} bytes", memory.size_bytes(value.as_value(), module.size_bytes(ty)));
            }
            let steps = memory.steps(&module, value).unwrap().into_iter().map(|step| match step {
                Step::Index(index, bytes) => format!("{} times {bytes}", index.name()),
                Step::Field(bytes) => format!("{}", bytes.cast_signed()),
            });
            steps.collect::<Vec<_>>().join(", ")
        };
        look(&module, &memory, &find);
    }

    #[test]
    fn elements_that_nothing_accesses_have_no_place() {
        let body = "  %a = alloca [4 x [64 x float]]
  %row = getelementptr [64 x float], ptr %a, i64 %i
  store float 1.0, ptr %row
  %second = getelementptr i8, ptr %row, i64 4
  store float 2.0, ptr %second
  %far = getelementptr i8, ptr %row, i64 260
  %v = load float, ptr %far
  %back = getelementptr i8, ptr %far, i64 -256
  %w = load float, ptr %back";
        with_memory(body, |_, _, find| {
            assert_eq!(find("a"), "32 bytes", "two elements of each 64");
            assert_eq!(find("row"), "i times 8, 0");
            assert_eq!(find("second"), "4");
            assert_eq!(find("far"), "12", "the second element of the next row");
            assert_eq!(find("back"), "-8");
        });
    }

    #[test]
    fn places_between_the_accessed_ones_close_up() {
        let body = "  %a = alloca [2 x { [3 x float], float, [4 x float] }]
  %b = getelementptr { [3 x float], float, [4 x float] }, ptr %a, i64 %i, i32 1
  store float 1.0, ptr %b
  %c = getelementptr i8, ptr %b, i64 16
  store float 2.0, ptr %c";
        with_memory(body, |_, _, find| {
            assert_eq!(find("a"), "16 bytes");
            assert_eq!(find("b"), "i times 8, 0");
            assert_eq!(find("c"), "4");
        });
    }

    #[test]
    fn what_any_access_may_mean_keeps_its_place() {
        let body = "  %a = alloca [16 x float]
  %b = getelementptr float, ptr %a, i64 %i
  store float 1.0, ptr %b
  %c = alloca [8 x float]
  call void @llvm.memset.p0.i64(ptr %c, i8 0, i64 32, i1 false)
  %d = load float, ptr %c";
        with_memory(body, |_, memory, find| {
            assert_eq!(find("a"), "64 bytes");
            assert_eq!(find("b"), "i times 4, 0");
            assert_eq!(find("c"), "32 bytes", "the fill writes all of it");
            assert_eq!(memory.variables.len(), 2);
        });
    }
}
