//! A step's frame: the places of variables and values that outlive a barrier, and of the word that says where the step waits.
//!
//! Values go through slots, variables that hold one value each: stored where it is computed, loaded where it is used. Entries and
//! exits copy between slots and frame, and LLVM makes values of slots again.

use std::collections::BTreeMap;

use openmps_llvm::{Block, Builder, Instruction, Module, PlainOp, Value};

use super::recompute::Remade;
use super::variable::{is_lifetime, size_bytes};

/// Largest alignment of a value in the frame: a cache line.
const ALIGNMENT_BYTES_MAX: u64 = 64;
/// Bytes of the word.
const WORD_BYTES: u64 = 4;

/// Offsets in a frame.
pub(super) struct Frame<'m> {
    module: &'m Module<'m>,
    offsets: BTreeMap<Instruction<'m>, u64>,
    pub(super) word_offset: Option<u64>,
    /// A multiple of every alignment.
    pub(super) size_bytes: u64,
}

impl<'m> Frame<'m> {
    /// Places variables and values but those that are `remade`, those of the largest alignment first.
    pub(super) fn of(
        module: &'m Module<'m>,
        has_word: bool,
        variables: &[Instruction<'m>],
        live: &[Vec<Instruction<'m>>],
        remade: &Remade<'m>,
    ) -> Self {
        let mut items: Vec<(Option<Instruction<'m>>, u64, u64)> = Vec::new();
        for &variable in variables {
            let alignment = variable.alignment().map_or(1, u64::from);
            items.push((Some(variable), size_bytes(module, variable), alignment));
        }
        for value in distinct(live).into_iter().filter(|value| !remade.contains(*value)) {
            items.push((Some(value), module.size_bytes(value.ty()), value_alignment(module, value)));
        }
        if has_word {
            items.push((None, WORD_BYTES, WORD_BYTES));
        }
        items.sort_by_key(|(_, _, alignment)| std::cmp::Reverse(*alignment));
        let mut frame = Self { module, offsets: BTreeMap::new(), word_offset: None, size_bytes: 0 };
        let mut end = 0_u64;
        for (item, size, alignment) in &items {
            let offset = end.next_multiple_of(*alignment);
            match item {
                Some(item) => drop(frame.offsets.insert(*item, offset)),
                None => frame.word_offset = Some(offset),
            }
            end = offset.saturating_add(*size);
        }
        let alignment = items.first().map_or(1, |(_, _, alignment)| *alignment);
        frame.size_bytes = end.checked_next_multiple_of(alignment).unwrap_or(u64::MAX);
        frame
    }

    /// Makes the frame hold `variables`, whose place on the stack disappears.
    pub(super) fn move_variables(&self, top: Block<'m>, variables: &[Instruction<'m>]) {
        let builder = self.module.builder();
        for &variable in variables {
            for user in variable.as_value().users().into_iter().filter_map(Value::as_instruction) {
                if is_lifetime(user) {
                    self.module.erase(user);
                }
            }
            builder.position_before(top.first().expect("it has a terminator"));
            let address = self.address(&builder, top, self.offsets[&variable]);
            variable.as_value().replace_all_uses_with(address);
            self.module.erase(variable);
        }
    }

    fn address(&self, builder: &Builder<'m>, block: Block<'m>, offset: u64) -> Value<'m> {
        let parameters = block.function().parameters();
        let frame = parameters[parameters.len() - 2];
        if offset == 0 { frame } else { builder.byte_offset(frame, offset) }
    }

    /// At the builder's place in `block`: stores `value`, which is that of `item`.
    pub(super) fn store(&self, builder: &Builder<'m>, block: Block<'m>, item: Instruction<'m>, value: Value<'m>) {
        let address = self.address(builder, block, self.offsets[&item]);
        builder.store(value, address).set_alignment(self.alignment(item));
    }

    /// At the builder's place in `block`: loads the value of `item`.
    pub(super) fn load(&self, builder: &Builder<'m>, block: Block<'m>, item: Instruction<'m>) -> Value<'m> {
        let address = self.address(builder, block, self.offsets[&item]);
        let load = builder.load(item.ty(), address);
        load.set_alignment(self.alignment(item));
        load.as_value()
    }

    fn alignment(&self, item: Instruction<'m>) -> u32 {
        u32::try_from(value_alignment(self.module, item)).expect("at most a cache line")
    }
}

fn value_alignment(module: &Module<'_>, value: Instruction<'_>) -> u64 {
    u64::from(module.alignment_bytes(value.ty())).min(ALIGNMENT_BYTES_MAX)
}

/// Every value once, in the order of its first barrier.
fn distinct<'m>(live: &[Vec<Instruction<'m>>]) -> Vec<Instruction<'m>> {
    let mut seen = std::collections::BTreeSet::new();
    live.iter().flatten().copied().filter(|value| seen.insert(*value)).collect()
}

/// Slots by value.
pub(super) type Slots<'m> = BTreeMap<Instruction<'m>, Value<'m>>;

/// Gives every live value a slot, and makes other blocks than its own use that.
pub(super) fn demote<'m>(module: &'m Module<'m>, top: Block<'m>, live: &[Vec<Instruction<'m>>]) -> Slots<'m> {
    let builder = module.builder();
    let mut slots = Slots::new();
    for value in distinct(live) {
        builder.position_before(top.first().expect("it has a terminator"));
        let slot = builder.alloca(value.ty()).as_value();
        let own = value.block().expect("it is not erased");
        let users: Vec<Instruction<'m>> =
            value.as_value().users().into_iter().filter_map(Value::as_instruction).collect();
        for user in users {
            if user.opcode().is(PlainOp::Phi) {
                demote_phi_use(&builder, value, slot, user);
            } else if user.block() != Some(own) {
                builder.position_before(user);
                let loaded = builder.load(value.ty(), slot).as_value();
                replace_operands(user, value, loaded);
            }
        }
        let place = if value.opcode().is(PlainOp::Phi) { own.first_non_phi() } else { value.next() };
        builder.position_before(place.expect("a block ends in a terminator"));
        builder.store(value.as_value(), slot);
        slots.insert(value, slot);
    }
    slots
}

/// Makes a phi take the slot's value at the end of the blocks that hand the value over.
fn demote_phi_use<'m>(builder: &Builder<'m>, value: Instruction<'m>, slot: Value<'m>, phi: Instruction<'m>) {
    // A block that goes to the phi's on several edges hands over one value.
    let mut loaded: BTreeMap<Block<'m>, Value<'m>> = BTreeMap::new();
    for (index, (incoming, from)) in (0..).zip(phi.incoming()) {
        if incoming == value.as_value() && Some(from) != value.block() {
            let load = loaded.entry(from).or_insert_with(|| {
                builder.position_before(from.terminator().expect("a block ends in a terminator"));
                builder.load(value.ty(), slot).as_value()
            });
            phi.set_operand(index, *load);
        }
    }
}

fn replace_operands<'m>(user: Instruction<'m>, from: Instruction<'m>, to: Value<'m>) {
    for index in 0..user.operand_count() {
        if user.operand(index) == from.as_value() {
            user.set_operand(index, to);
        }
    }
}
