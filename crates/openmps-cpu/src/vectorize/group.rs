//! Access groups: accesses of a thread that lie side by side, so that those of all lanes cover memory without gaps.
//!
//! Where each thread reads `x[4 * i]` to `x[4 * i + 3]`, each of the four reads has a step of four elements, and together they are one
//! wide access and a shuffle. Addresses are compared as a root, multiples of values and a constant. An extension is looked
//! through: that its operand does not wrap between lanes is what the use of the group checks, with room for its members.
//!
//! Members may be moved over accesses of other elements of the lane. Buffers are different, or one buffer that is bound twice at the
//! same place, as for an operation in place.

use std::collections::HashMap;

use openmps_llvm::{BinaryOp, CastOp, Instruction, Module, Opcode, Ordering, PlainOp, Type, TypeKind, Value};

use super::analysis::Analysis;
use super::graph::Graph;
use super::transfer::{Step, is_pure, steps};

/// Most members of a group: more make shuffles of more registers than there are.
const MEMBERS_MAX: i64 = 8;
/// The metadata of loads that give the same whenever they are done.
const INVARIANT: &str = "invariant.load";
/// Deepest expression that is taken apart.
const DEPTH_MAX: u32 = 32;

/// Accesses of one block that are done together.
pub(super) struct Group<'m> {
    /// In the order of memory.
    pub(super) members: Vec<Instruction<'m>>,
    /// The one at whose place all are done: the first load, the last store.
    pub(super) lead: Instruction<'m>,
    /// The place of the lead among the members.
    pub(super) lead_place: u32,
}

/// All groups of a function.
#[derive(Default)]
pub(super) struct Groups<'m> {
    groups: Vec<Group<'m>>,
    of: HashMap<Instruction<'m>, usize>,
}

impl<'m> Groups<'m> {
    pub(super) fn find(module: &Module<'m>, graph: &Graph<'m>, analysis: &Analysis<'m>) -> Self {
        let mut found = Self::default();
        for block in &graph.blocks {
            let accesses = accesses(module, analysis, &block.instructions());
            found.find_in_block(&accesses);
        }
        found
    }

    /// The group that `access` is in.
    pub(super) fn of(&self, access: Instruction<'m>) -> Option<&Group<'m>> {
        self.of.get(&access).map(|&number| &self.groups[number])
    }

    fn find_in_block(&mut self, accesses: &[Access<'m>]) {
        for first in accesses {
            let Some(pattern) = &first.pattern else { continue };
            if self.of.contains_key(&first.instruction) {
                continue;
            }
            let alike: Vec<&Access<'m>> = accesses
                .iter()
                .filter(|other| {
                    let fits = other.pattern.as_ref().is_some_and(|other| other.is_like(pattern));
                    fits && !self.of.contains_key(&other.instruction)
                })
                .collect();
            if let Some(group) = complete(&alike, pattern).and_then(|members| allowed(accesses, &members)) {
                self.of.extend(group.members.iter().map(|&member| (member, self.groups.len())));
                self.groups.push(group);
            }
        }
    }
}

/// One access or effect of a block, in order.
struct Access<'m> {
    instruction: Instruction<'m>,
    /// None for what can be in no group.
    pattern: Option<Pattern<'m>>,
    writes: bool,
    /// Whether nothing writes what it reads.
    is_invariant: bool,
}

impl Access<'_> {
    /// Whether the order of two accesses makes no difference, one of which writes at least.
    fn commutes(&self, other: &Self) -> bool {
        if self.is_invariant || other.is_invariant {
            return true;
        }
        self.pattern.as_ref().zip(other.pattern.as_ref()).is_some_and(|(a, b)| a.is_apart(b))
    }
}

/// What members of a group have in common, and where they differ.
struct Pattern<'m> {
    root: Value<'m>,
    terms: Vec<Term<'m>>,
    ty: Type<'m>,
    is_store: bool,
    is_checked: bool,
    stride: i64,
    bytes: i64,
    offset: i64,
}

/// A value, how it is extended, and the bytes that it counts for.
type Term<'m> = (Value<'m>, Option<CastOp>, i64);

impl Pattern<'_> {
    fn is_like(&self, other: &Pattern<'_>) -> bool {
        self.has_same_terms(other)
            && self.root == other.root
            && self.ty == other.ty
            && self.is_store == other.is_store
            && self.is_checked == other.is_checked
            && self.stride == other.stride
    }
}

impl Pattern<'_> {
    /// Whether no lane touches what a lane touches by `other`.
    fn is_apart(&self, other: &Pattern<'_>) -> bool {
        let is_argument = |root: Value<'_>| {
            let load = root.as_instruction().filter(|it| it.opcode().is(PlainOp::Load));
            load.is_some_and(|load| load.metadata(INVARIANT).is_some())
        };
        let are_buffers = self.root != other.root && is_argument(self.root) && is_argument(other.root);
        if are_buffers && self.bytes != other.bytes {
            return true;
        }
        let are_known = self.root == other.root || are_buffers;
        let apart = self.offset.wrapping_sub(other.offset).rem_euclid(self.stride);
        are_known
            && self.has_same_terms(other)
            && self.stride == other.stride
            && (self.bytes.max(other.bytes)..=self.stride - self.bytes.max(other.bytes)).contains(&apart)
    }

    fn has_same_terms(&self, other: &Pattern<'_>) -> bool {
        self.terms.len() == other.terms.len()
            && self.terms.iter().zip(&other.terms).all(|(a, b)| a.0 == b.0 && a.1 == b.1 && a.2 == b.2)
    }
}

fn accesses<'m>(module: &Module<'m>, analysis: &Analysis<'m>, block: &[Instruction<'m>]) -> Vec<Access<'m>> {
    let mut accesses = Vec::new();
    for &instruction in block {
        let (is_access, writes) = match instruction.opcode() {
            Opcode::Plain(PlainOp::Load) => (true, false),
            Opcode::Plain(PlainOp::Store) => (true, true),
            Opcode::Plain(PlainOp::AtomicRmw | PlainOp::AtomicCmpXchg | PlainOp::Fence) => (false, true),
            Opcode::Plain(PlainOp::Call) if has_effect(instruction) => (false, true),
            Opcode::Plain(_) | Opcode::Binary(_) | Opcode::Cast(_) => continue,
        };
        let pattern = if is_access { pattern(module, analysis, instruction, writes) } else { None };
        let is_invariant = is_access && instruction.metadata(INVARIANT).is_some();
        accesses.push(Access { instruction, pattern, writes, is_invariant });
    }
    accesses
}

fn has_effect(call: Instruction<'_>) -> bool {
    call.called_function().is_none_or(|function| !function.is_llvm_intrinsic() && !is_pure(function))
}

fn pattern<'m>(
    module: &Module<'m>,
    analysis: &Analysis<'m>,
    access: Instruction<'m>,
    is_store: bool,
) -> Option<Pattern<'m>> {
    let (ty, pointer) =
        if is_store { (access.operand(0).ty(), access.operand(1)) } else { (access.ty(), access.operand(0)) };
    let is_plain = !access.is_volatile() && access.ordering().is_none_or(|ordering| ordering == Ordering::NotAtomic);
    let is_number = match ty.kind() {
        TypeKind::Integer(bits) => [8, 16, 32, 64].contains(&bits),
        TypeKind::Half | TypeKind::BFloat | TypeKind::Float | TypeKind::Double => true,
        _ => false,
    };
    let shape = analysis.shape(pointer);
    let stride = shape.lane_stride(analysis.row_lanes)?;
    let bytes = i64::try_from(module.size_bytes(ty)).ok()?;
    let is_sparse = stride > bytes && stride % bytes == 0 && stride / bytes <= MEMBERS_MAX;
    if !is_plain || !is_number || !is_sparse || analysis.private.contains(pointer) {
        return None;
    }
    let (mut terms, mut offset) = (Vec::new(), 0);
    let root = root(module, pointer, &mut terms, &mut offset)?;
    terms.sort_unstable_by_key(|term: &Term<'m>| (term.0, term.2));
    let is_checked = shape.is_checked();
    Some(Pattern { root, terms, ty, is_store, is_checked, stride, bytes, offset })
}

/// Takes an address apart; returns the pointer that it starts from.
fn root<'m>(module: &Module<'m>, pointer: Value<'m>, terms: &mut Vec<Term<'m>>, offset: &mut i64) -> Option<Value<'m>> {
    let mut pointer = pointer;
    while let Some(address) = pointer.as_instruction().filter(|it| it.opcode().is(PlainOp::GetElementPtr)) {
        for step in steps(module, address)? {
            match step {
                Step::Field(bytes) => *offset = offset.checked_add(i64::try_from(bytes).ok()?)?,
                Step::Index(index, bytes) => {
                    let bytes = i64::try_from(bytes).ok()?;
                    let is_whole = index.ty().int_bits() == Some(64) || index.as_const_int().is_some();
                    if is_whole {
                        add(index, None, bytes, DEPTH_MAX, terms, offset)?;
                    } else {
                        add(index, Some(CastOp::SExt), bytes, DEPTH_MAX, terms, offset)?;
                    }
                }
            }
        }
        pointer = address.operand(0);
    }
    Some(pointer)
}

/// Adds `value` times `factor`, extended by `extension`.
fn add<'m>(
    value: Value<'m>,
    extension: Option<CastOp>,
    factor: i64,
    depth: u32,
    terms: &mut Vec<Term<'m>>,
    offset: &mut i64,
) -> Option<()> {
    if let Some(constant) = value.as_const_int_signed() {
        *offset = offset.checked_add(constant.checked_mul(factor)?)?;
        return Some(());
    }
    let depth = depth.checked_sub(1)?;
    if let Some(instruction) = value.as_instruction() {
        let operand = |index| instruction.operand(index);
        let constant = || operand(1).as_const_int_signed();
        match instruction.opcode() {
            Opcode::Binary(BinaryOp::Add) => {
                add(operand(0), extension, factor, depth, terms, offset)?;
                return add(operand(1), extension, factor, depth, terms, offset);
            }
            Opcode::Binary(BinaryOp::Or) if instruction.is_disjoint() => {
                add(operand(0), extension, factor, depth, terms, offset)?;
                return add(operand(1), extension, factor, depth, terms, offset);
            }
            Opcode::Binary(BinaryOp::Shl) if constant().is_some_and(|by| (0..32).contains(&by)) => {
                let factor = factor.checked_mul(1 << constant()?)?;
                return add(operand(0), extension, factor, depth, terms, offset);
            }
            Opcode::Binary(BinaryOp::Mul) if constant().is_some() => {
                let factor = factor.checked_mul(constant()?)?;
                return add(operand(0), extension, factor, depth, terms, offset);
            }
            Opcode::Cast(op @ (CastOp::ZExt | CastOp::SExt)) if extension.is_none() => {
                return add(operand(0), Some(op), factor, depth, terms, offset);
            }
            Opcode::Binary(_) | Opcode::Cast(_) | Opcode::Plain(_) => {}
        }
    }
    match terms.iter_mut().find(|term| term.0 == value && term.1 == extension) {
        Some(term) => term.2 = term.2.checked_add(factor)?,
        None => terms.push((value, extension, factor)),
    }
    Some(())
}

/// The members, in the order of memory, of the lowest run without gaps.
fn complete<'a, 'm>(alike: &[&'a Access<'m>], pattern: &Pattern<'m>) -> Option<Vec<&'a Access<'m>>> {
    let count = pattern.stride / pattern.bytes;
    let offset_of = |access: &Access<'m>| access.pattern.as_ref().map_or(0, |pattern| pattern.offset);
    let mut starts: Vec<i64> = alike.iter().map(|access| offset_of(access)).collect();
    starts.sort_unstable();
    starts.into_iter().find_map(|start| {
        let member = |place: i64| alike.iter().copied().find(|it| offset_of(it) == start + place * pattern.bytes);
        (0..count).map(member).collect::<Option<Vec<_>>>()
    })
}

/// The group, unless something between its members must stay between them.
fn allowed<'m>(accesses: &[Access<'m>], members: &[&Access<'m>]) -> Option<Group<'m>> {
    let place = |member: &Access<'m>| accesses.iter().position(|it| it.instruction == member.instruction);
    let places: Vec<usize> = members.iter().map(|member| place(member)).collect::<Option<_>>()?;
    let (first, last) = (*places.iter().min()?, *places.iter().max()?);
    let is_store = members[0].writes;
    let stays = |(at, access): (usize, &Access<'m>)| {
        let moves_over = |&(&place, member): &(&usize, &&Access<'m>)| {
            let is_passed = if is_store { place < at } else { at < place };
            is_passed && !member.commutes(access)
        };
        let matters = !places.contains(&at) && (is_store || access.writes);
        matters && places.iter().zip(members).any(|passed| moves_over(&passed))
    };
    if accesses.iter().enumerate().skip(first).take(last - first).any(stays) {
        return None;
    }
    let lead = if is_store { last } else { first };
    let lead_place = u32::try_from(places.iter().position(|&at| at == lead)?).ok()?;
    let can_start_over = !is_store && !accesses[..first].iter().any(|access| access.writes);
    let is_checked = members[0].pattern.as_ref().is_some_and(|pattern| pattern.is_checked);
    if is_checked && !is_store && !can_start_over {
        return None;
    }
    Some(Group {
        members: members.iter().map(|member| member.instruction).collect(),
        lead: accesses[lead].instruction,
        lead_place,
    })
}
