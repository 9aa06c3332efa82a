//! Ends the loops over the SIMD-groups of a row where the others have nothing to do, as in the steps of a tree reduction: in the state
//! of `if (lid < 64) …` two SIMD-groups run, however long the row is.
//!
//! Needs the driver of `split` with the states' code in its loops, simplified. A loop over `x` from 0 by 32 whose header has no other
//! phi is run in the mind with `x` at a constant or above, on intervals of numbers; where nothing is written then, it ends there.

use std::collections::{BTreeSet, HashMap};

use openmps_llvm::{BinaryOp, Block, CastOp, Instruction, IntPredicate, Module, Opcode, PlainOp, Value};

use crate::abi::{KERNEL_SYMBOL, SIMD_WIDTH, THREADS_PER_GROUP_MAX};

/// Most constants that are tried for a loop.
const BOUNDS_MAX: usize = 8;
/// Most blocks of a loop that is looked at.
const BLOCKS_MAX: usize = 200;

/// Bounds the loops over SIMD-groups.
pub(super) fn run(module: &Module<'_>) {
    let kernel = module.function(KERNEL_SYMBOL).expect("the driver was linked");
    for header in kernel.blocks() {
        let Some(row) = Row::of(header) else { continue };
        let bound = row.bounds().into_iter().find(|&bound| row.is_idle_from(bound));
        if let Some(bound) = bound {
            row.end_at(module, bound);
        }
    }
}

/// A loop over the SIMD-groups of a row.
struct Row<'m> {
    header: Block<'m>,
    latch: Block<'m>,
    /// The position of the SIMD-group's first thread.
    x: Value<'m>,
    /// Whether there is a next one.
    more: Instruction<'m>,
    blocks: Vec<Block<'m>>,
}

impl<'m> Row<'m> {
    fn of(header: Block<'m>) -> Option<Self> {
        let phi = header.first().filter(|it| it.opcode().is(PlainOp::Phi))?;
        if phi.next()?.opcode().is(PlainOp::Phi) || phi.ty().int_bits() != Some(32) {
            return None;
        }
        let incoming = phi.incoming();
        let &(next, latch) = incoming.iter().find(|(value, _)| value.as_instruction().is_some())?;
        let starts_at_zero = incoming.len() == 2 && incoming.iter().any(|(value, _)| value.as_const_int() == Some(0));
        let add = next.as_instruction().filter(|add| add.opcode() == Opcode::Binary(BinaryOp::Add))?;
        let is_row = add.operand(0) == phi.as_value() && add.operand(1).as_const_int() == Some(SIMD_WIDTH as u64);
        let end = latch.terminator()?;
        let more = end.condition().and_then(Value::as_instruction)?;
        let is_latch = more.int_predicate() == Some(IntPredicate::Ult)
            && more.operand(0) == next
            && end.successors().first() == Some(&header);
        let blocks = blocks_of(header, latch)?;
        (starts_at_zero && is_row && is_latch).then_some(Self { header, latch, x: phi.as_value(), more, blocks })
    }

    /// 32, and multiples of it next to constants that something is compared with, the lowest first.
    fn bounds(&self) -> Vec<u64> {
        let mut bounds = BTreeSet::from([SIMD_WIDTH as u64]);
        for test in self.blocks.iter().flat_map(|block| block.instructions()) {
            if !test.opcode().is(PlainOp::ICmp) {
                continue;
            }
            let constant = test.operand(1);
            let number = constant.as_const_int().or_else(|| constant.const_element(0)?.as_const_int());
            // Behind the largest multiple there is no position.
            bounds.extend(number.and_then(|number| number.max(1).checked_next_multiple_of(SIMD_WIDTH as u64)));
        }
        bounds.into_iter().filter(|&bound| bound < u64::from(THREADS_PER_GROUP_MAX)).take(BOUNDS_MAX).collect()
    }

    /// Whether SIMD-groups from `bound` on write nothing.
    fn is_idle_from(&self, bound: u64) -> bool {
        let mut walk = Walk { row: self, bound, edges: BTreeSet::new(), known: HashMap::new(), open: BTreeSet::new() };
        loop {
            let before = walk.edges.len();
            walk.known.clear();
            let Some(reached) = walk.reached() else { return false };
            if walk.edges.len() == before {
                return reached.into_iter().flat_map(Block::instructions).all(|it| !walk.writes(it));
            }
        }
    }

    fn end_at(&self, module: &Module<'m>, bound: u64) {
        let builder = module.builder();
        let end = self.latch.terminator().expect("a block ends in a terminator");
        builder.position_before(end);
        let more = if bound <= SIMD_WIDTH as u64 {
            module.context().i1().zero()
        } else {
            let size = self.more.operand(1);
            let limit = builder.intrinsic("llvm.umin", &[size.ty()], &[size, size.ty().const_int(bound)]);
            builder.icmp(IntPredicate::Ult, self.more.operand(0), limit.as_value())
        };
        let condition = end.operand(0);
        debug_assert_eq!(condition, self.more.as_value(), "the condition is a branch's first operand");
        end.set_operand(0, more);
    }
}

/// The blocks of the loop; none where there are too many, or a way leaves it elsewhere than behind the latch.
fn blocks_of<'m>(header: Block<'m>, latch: Block<'m>) -> Option<Vec<Block<'m>>> {
    let mut blocks = vec![header];
    let mut seen: BTreeSet<Block<'m>> = BTreeSet::from([header]);
    let mut at = 0;
    while let Some(&block) = blocks.get(at) {
        at += 1;
        if block.successors().is_empty() || blocks.len() > BLOCKS_MAX {
            return None;
        }
        if block != latch {
            blocks.extend(block.successors().into_iter().filter(|next| seen.insert(*next)));
        }
    }
    seen.contains(&latch).then_some(blocks)
}

/// The unsigned numbers that a value, or each element of a vector, may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Interval {
    low: u64,
    high: u64,
}

impl Interval {
    fn one(number: u64) -> Self {
        Self { low: number, high: number }
    }

    fn up_to(high: u64) -> Self {
        Self { low: 0, high }
    }

    fn union(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    fn number(self) -> Option<u64> {
        (self.low == self.high).then_some(self.low)
    }

    /// Moved by `distance` in numbers that wrap behind `max`; none where only a part would wrap.
    fn moved(self, distance: Self, max: u64) -> Option<Self> {
        let sums = [self.low.checked_add(distance.low)?, self.high.checked_add(distance.high)?];
        match sums.map(|sum| sum > max) {
            [false, false] => Some(Self { low: sums[0], high: sums[1] }),
            [true, true] => Some(Self { low: sums[0] & max, high: sums[1] & max }),
            _ => None,
        }
    }
}

/// The largest number of an integer type of fewer than 64 bits.
fn max_of(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// One iteration in the mind: values are known as far as the edges found so far tell.
struct Walk<'a, 'm> {
    row: &'a Row<'m>,
    bound: u64,
    edges: BTreeSet<(Block<'m>, Block<'m>)>,
    known: HashMap<Value<'m>, Option<Interval>>,
    open: BTreeSet<Value<'m>>,
}

impl<'m> Walk<'_, 'm> {
    /// The blocks that are reached from the header; none where what is met cannot be followed.
    fn reached(&mut self) -> Option<Vec<Block<'m>>> {
        let mut blocks = vec![self.row.header];
        let mut at = 0;
        while let Some(&block) = blocks.get(at) {
            at += 1;
            if block == self.row.latch {
                continue;
            }
            for next in self.next(block)? {
                self.edges.insert((block, next));
                if !blocks.contains(&next) {
                    blocks.push(next);
                }
            }
        }
        Some(blocks)
    }

    fn next(&mut self, block: Block<'m>) -> Option<Vec<Block<'m>>> {
        let end = block.terminator()?;
        let successors = end.successors();
        if end.opcode().is(PlainOp::Switch) {
            let number = self.interval(end.operand(0)).and_then(Interval::number);
            return Some(number.and_then(|number| end.switch_target(number)).map_or(successors, |target| vec![target]));
        }
        match (end.opcode().is(PlainOp::Br), end.condition()) {
            (true, Some(condition)) => Some(match self.interval(condition).and_then(Interval::number) {
                Some(0) => vec![successors[1]],
                Some(_) => vec![successors[0]],
                None => successors,
            }),
            _ => Some(successors),
        }
    }

    /// What `value` may be; none where that is anything.
    fn interval(&mut self, value: Value<'m>) -> Option<Interval> {
        if value == self.row.x {
            return Some(Interval { low: self.bound, high: u64::from(THREADS_PER_GROUP_MAX) });
        }
        let bits = value.ty().scalar().int_bits().filter(|&bits| bits < 64)?;
        if value.is_constant() {
            return constant(value);
        }
        let instruction = value.as_instruction()?;
        if let Some(&known) = self.known.get(&value) {
            return known;
        }
        if !self.open.insert(value) {
            return None;
        }
        let found = self.result(instruction, bits);
        self.open.remove(&value);
        self.known.insert(value, found);
        found
    }

    fn result(&mut self, instruction: Instruction<'m>, bits: u32) -> Option<Interval> {
        let max = max_of(bits);
        match instruction.opcode() {
            Opcode::Binary(op) => self.binary(op, instruction, max),
            Opcode::Cast(CastOp::ZExt) => self.interval(instruction.operand(0)),
            Opcode::Cast(CastOp::Trunc) => self.interval(instruction.operand(0)).filter(|it| it.high <= max),
            Opcode::Cast(CastOp::BitCast) => self.bits(instruction.operand(0), max),
            Opcode::Cast(_) => None,
            Opcode::Plain(PlainOp::ICmp) => {
                Some(self.comparison(instruction).map_or(Interval::up_to(1), Interval::one))
            }
            Opcode::Plain(PlainOp::Freeze) => self.interval(instruction.operand(0)),
            Opcode::Plain(PlainOp::Select) => self.select(instruction),
            Opcode::Plain(PlainOp::Phi) => self.phi(instruction),
            Opcode::Plain(PlainOp::InsertElement) if instruction.operand(0).is_undef() => {
                self.interval(instruction.operand(1))
            }
            Opcode::Plain(PlainOp::ShuffleVector) if instruction.operand(1).is_undef() => {
                self.interval(instruction.operand(0))
            }
            Opcode::Plain(_) => None,
        }
    }

    fn binary(&mut self, op: BinaryOp, instruction: Instruction<'m>, max: u64) -> Option<Interval> {
        let [left, right] = [0, 1].map(|index| self.interval(instruction.operand(index)));
        match op {
            // One of them is enough.
            BinaryOp::And => {
                let high = [left, right].into_iter().flatten().map(|it| it.high).min()?;
                let both = left.zip(right).and_then(|(left, right)| Some(left.number()? & right.number()?));
                Some(both.map_or(Interval::up_to(high), Interval::one))
            }
            BinaryOp::Or => {
                let low = [left, right].into_iter().flatten().map(|it| it.low).max()?;
                let high = left.zip(right).map_or(max, |(left, right)| {
                    let bits = (left.high | right.high).checked_ilog2().map_or(0, |top| top + 1);
                    if bits == 0 { 0 } else { max_of(bits) }
                });
                Some(Interval { low, high })
            }
            BinaryOp::Xor => Some(Interval::one(left?.number()? ^ right?.number()?)),
            BinaryOp::Add => left?.moved(right?, max),
            _ => None,
        }
    }

    /// A mask as a number.
    fn bits(&mut self, mask: Value<'m>, max: u64) -> Option<Interval> {
        let is_mask = mask.ty().lanes() > 1 && mask.ty().scalar().int_bits() == Some(1);
        let lanes = self.interval(mask).filter(|_| is_mask)?.number()?;
        Some(Interval::one(if lanes == 0 { 0 } else { max }))
    }

    /// Of all lanes; none where it may be either.
    fn comparison(&mut self, test: Instruction<'m>) -> Option<u64> {
        let bits = test.operand(0).ty().scalar().int_bits().filter(|&bits| bits < 64)?;
        let predicate = test.int_predicate()?;
        let (left, other) = (self.interval(test.operand(0))?, test.operand(1));
        let lanes = other.ty().lanes();
        if lanes < 2 || !other.is_constant() {
            return truth(predicate, left, self.interval(other)?, bits);
        }
        // Constants of lanes may lie far apart: 0, -1, -2.
        let mut truths = (0..lanes).map(|lane| {
            let own = other.const_element(lane)?.as_const_int()?;
            truth(predicate, left, Interval::one(own), bits)
        });
        let first = truths.next()??;
        truths.all(|truth| truth == Some(first)).then_some(first)
    }

    fn select(&mut self, select: Instruction<'m>) -> Option<Interval> {
        match self.interval(select.operand(0)).and_then(Interval::number) {
            Some(0) => self.interval(select.operand(2)),
            Some(_) => self.interval(select.operand(1)),
            None => Some(self.interval(select.operand(1))?.union(self.interval(select.operand(2))?)),
        }
    }

    /// The values that come along edges found so far.
    fn phi(&mut self, phi: Instruction<'m>) -> Option<Interval> {
        let block = phi.block()?;
        let mut all: Option<Interval> = None;
        for (value, from) in phi.incoming() {
            if self.edges.contains(&(from, block)) {
                let own = self.interval(value)?;
                all = Some(all.map_or(own, |all| all.union(own)));
            }
        }
        all
    }

    /// Whether the instruction has an effect.
    fn writes(&mut self, instruction: Instruction<'m>) -> bool {
        match instruction.opcode() {
            Opcode::Plain(PlainOp::Store | PlainOp::AtomicRmw | PlainOp::AtomicCmpXchg | PlainOp::Fence) => true,
            Opcode::Plain(PlainOp::Load) => instruction.is_volatile(),
            Opcode::Plain(PlainOp::Call) => {
                let Some(callee) = instruction.called_function() else { return true };
                let name = callee.name();
                let is_masked_write =
                    ["llvm.masked.store", "llvm.masked.scatter"].iter().any(|it| name.starts_with(it));
                if is_masked_write {
                    return self.interval(instruction.operand(2)).and_then(Interval::number) != Some(0);
                }
                let reads = ["llvm.masked.load", "llvm.masked.gather", "llvm.lifetime", "llvm.assume"];
                !is_pure(callee) && !reads.iter().any(|it| name.starts_with(it))
            }
            Opcode::Binary(_) | Opcode::Cast(_) | Opcode::Plain(_) => false,
        }
    }
}

/// Whether a comparison of numbers of `bits` bits holds; none where it may or not.
fn truth(predicate: IntPredicate, left: Interval, right: Interval, bits: u32) -> Option<u64> {
    use IntPredicate as P;
    let is_plain = left.high.max(right.high) <= max_of(bits) / 2;
    let less = |a: Interval, b: Interval| match () {
        () if a.high < b.low => Some(1),
        () if a.low >= b.high => Some(0),
        () => None,
    };
    let equal = match (left.number(), right.number()) {
        (Some(a), Some(b)) => Some(u64::from(a == b)),
        _ if left.high < right.low || right.high < left.low => Some(0),
        _ => None,
    };
    let not = |truth: Option<u64>| truth.map(|truth| truth ^ 1);
    match predicate {
        P::Slt | P::Sge | P::Sgt | P::Sle if !is_plain => None,
        P::Ult | P::Slt => less(left, right),
        P::Uge | P::Sge => not(less(left, right)),
        P::Ugt | P::Sgt => less(right, left),
        P::Ule | P::Sle => not(less(right, left)),
        P::Eq => equal,
        P::Ne => not(equal),
    }
}

/// Whether a function neither reads nor writes memory.
fn is_pure(function: openmps_llvm::Function<'_>) -> bool {
    function.attribute(openmps_llvm::AttributePlace::Function, "memory") == Some(0)
}

/// The elements of a constant.
fn constant(value: Value<'_>) -> Option<Interval> {
    if let Some(number) = value.as_const_int() {
        return Some(Interval::one(number));
    }
    if value.ty().lanes() < 2 {
        return None;
    }
    let mut all: Option<Interval> = None;
    for lane in 0..value.ty().lanes() {
        let own = Interval::one(value.const_element(lane)?.as_const_int()?);
        all = Some(all.map_or(own, |all| all.union(own)));
    }
    all
}

#[cfg(test)]
mod tests {
    use openmps_llvm::Context;

    use super::*;

    /// A loop over SIMD-groups with `body` in it, which ends in block `latch`, and what becomes of it.
    fn bounded(body: &str) -> String {
        let text = format!(
            "declare void @llvm.masked.store.v32i32.p0(<32 x i32>, ptr, <32 x i1>)
declare void @unknown()
define void @{KERNEL_SYMBOL}(ptr %p, i32 %size) {{
entry:
  br label %loop
loop:
  %x = phi i32 [ 0, %entry ], [ %x.next, %latch ]
{body}
latch:
  %x.next = add nuw i32 %x, 32
  %more = icmp ult i32 %x.next, %size
  br i1 %more, label %loop, label %end
end:
  ret void
}}"
        );
        let context = Context::new();
        let module = context.parse_ir(&text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
        run(&module);
        module.verify().unwrap_or_else(|error| panic!("{error} in {module}"));
        module.to_string()
    }

    /// Writes where `condition` holds.
    fn stores_if(condition: &str) -> String {
        bounded(&format!(
            "  {condition}\n  br i1 %c, label %then, label %latch
then:\n  store i32 %x, ptr %p\n  br label %latch"
        ))
    }

    #[test]
    fn a_loop_ends_where_no_simdgroup_writes_any_more() {
        for condition in [
            "%c = icmp ult i32 %x, 128",
            "%c = icmp slt i32 %x, 100",
            "%n = icmp ugt i32 %x, 127\n  %c = xor i1 %n, true",
            "%l = add i32 %x, 31\n  %o = or i32 %x, %l\n  %c = icmp ult i32 %o, 128",
        ] {
            let text = stores_if(condition);
            assert!(text.contains("call i32 @llvm.umin.i32(i32 %size, i32 128)"), "{condition}: {text}");
        }
    }

    #[test]
    fn one_simdgroup_needs_no_loop() {
        let text = stores_if("%c = icmp eq i32 %x, 0");
        assert!(text.contains("br i1 false, label %loop"), "{text}");
        let text = stores_if(
            "%i = insertelement <4 x i32> poison, i32 %x, i64 0
  %s = shufflevector <4 x i32> %i, <4 x i32> poison, <4 x i32> zeroinitializer
  %m = icmp eq <4 x i32> %s, <i32 0, i32 -1, i32 -2, i32 -3>
  %b = bitcast <4 x i1> %m to i4
  %c = icmp ne i4 %b, 0",
        );
        assert!(text.contains("br i1 false, label %loop"), "{text}");
        // The near ones wrap: 0 to 31 less 1.
        let text = stores_if("%l = add i32 %x, -1\n  %f = icmp ult i32 %l, -32\n  %c = xor i1 %f, true");
        assert!(text.contains("br i1 false, label %loop"), "{text}");
    }

    #[test]
    fn a_mask_without_lanes_writes_nothing() {
        let text = bounded(
            "  %i = insertelement <32 x i32> poison, i32 %x, i64 0
  %s = shufflevector <32 x i32> %i, <32 x i32> poison, <32 x i32> zeroinitializer
  %m = icmp ult <32 x i32> %s, splat (i32 64)
  %b = bitcast <32 x i1> %m to i32
  %none = icmp eq i32 %b, 0
  br i1 %none, label %latch, label %then
then:
  call void @llvm.masked.store.v32i32.p0(<32 x i32> %s, ptr align 4 %p, <32 x i1> %m)
  br label %latch",
        );
        assert!(text.contains("call i32 @llvm.umin.i32(i32 %size, i32 64)"), "{text}");
    }

    #[test]
    fn a_switch_goes_where_its_number_says() {
        let text = bounded(
            "  %i = insertelement <32 x i32> poison, i32 %x, i64 0
  %s = shufflevector <32 x i32> %i, <32 x i32> poison, <32 x i32> zeroinitializer
  %m = icmp ult <32 x i32> %s, splat (i32 64)
  %b = bitcast <32 x i1> %m to i32
  switch i32 %b, label %some [ i32 0, label %latch
                               i32 -1, label %all ]
some:
  call void @unknown()
  br label %latch
all:
  store i32 %x, ptr %p
  br label %latch",
        );
        assert!(text.contains("call i32 @llvm.umin.i32(i32 %size, i32 64)"), "{text}");
        let unknown = bounded(
            "  %v = load i32, ptr %p
  switch i32 %v, label %latch [ i32 1, label %all ]
all:
  store i32 %x, ptr %p
  br label %latch",
        );
        assert!(unknown.contains("br i1 %more, label %loop"), "{unknown}");
    }

    #[test]
    fn what_has_an_effect_everywhere_is_left_alone() {
        for body in [
            "  store i32 %x, ptr %p\n  br label %latch",
            "  call void @unknown()\n  br label %latch",
            "  %c = icmp ugt i32 %x, 63\n  br i1 %c, label %then, label %latch\nthen:\n  store i32 %x, ptr %p\n  br label %latch",
            // No multiple of 32 is that large.
            "  %w = zext i32 %x to i64\n  %c = icmp ult i64 %w, -1\n  br i1 %c, label %then, label %latch
then:\n  store i32 %x, ptr %p\n  br label %latch",
            "  %v = load i32, ptr %p\n  %c = icmp ult i32 %v, 64\n  br i1 %c, label %then, label %latch
then:\n  store i32 %x, ptr %p\n  br label %latch",
        ] {
            let text = bounded(body);
            assert!(text.contains("br i1 %more, label %loop"), "{text}");
        }
    }

    #[test]
    fn loops_that_carry_values_are_left_alone() {
        let text =
            bounded("  %n = phi i32 [ 0, %entry ], [ %n.next, %latch ]\n  %n.next = add i32 %n, 1\n  br label %latch");
        assert!(text.contains("br i1 %more, label %loop"), "{text}");
    }
}
