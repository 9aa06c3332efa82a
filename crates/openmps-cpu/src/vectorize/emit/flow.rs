//! Blocks and edges of both copies.

use openmps_llvm::{Block, Instruction, IntPredicate, Opcode, PlainOp, Value};

use super::super::refusal::Refusal;
use super::super::shape::Shape;
use super::Emitter;
use crate::split::MARKER;

/// A masked block of at least this many instructions is skipped when no lane runs it; below, the test costs more. Within 5 %
/// either way where it was measured.
const SKIPPED_INSTRUCTIONS_MIN: usize = 12;

/// Most instructions of a block that is written once more where lanes part in front of it and meet behind.
const ARM_INSTRUCTIONS_MAX: usize = 24;

/// How many lanes `lanes` are, if they are the first ones.
fn leading_lanes(lanes: u32) -> Option<u32> {
    let count = lanes.trailing_ones();
    (lanes.count_ones() == count).then_some(count)
}

/// Where an edge's phi values go: the new value and the slot.
type PhiStores<'m> = Vec<(Value<'m>, Value<'m>)>;

impl<'m> Emitter<'_, 'm> {
    fn instructions(&self, block: usize) -> Vec<Instruction<'m>> {
        self.graph.blocks[block].instructions()
    }

    fn condition(&self, block: usize) -> Value<'m> {
        let terminator = self.graph.blocks[block].terminator();
        terminator.and_then(Instruction::condition).expect("a block with two successors has a condition")
    }

    fn phis(&self, block: usize) -> impl Iterator<Item = Instruction<'m>> + use<'m> {
        self.instructions(block).into_iter().take_while(|it| it.opcode().is(PlainOp::Phi))
    }

    /// The copy that all lanes run.
    pub(super) fn full_block(&mut self, block: usize) -> Result<(), Refusal> {
        self.builder.position_at_end(self.full[block]);
        self.forget_registers();
        self.mask = None;
        for instruction in self.instructions(block) {
            if !self.is_for_agreement(instruction) {
                self.instruction(instruction)?;
            }
        }
        let successors = self.graph.successors[block].clone();
        match successors[..] {
            [] => {
                self.builder.br(self.exit);
            }
            [next] if self.barrier_of(block).is_some() => {
                self.builder.store(self.mask_ty().all_ones(), self.masks[next]);
                let barrier = self.barrier_block(block);
                self.builder.br(barrier);
            }
            [next] => self.full_edge(block, next)?,
            [yes, no] if yes == no => self.full_edge(block, yes)?,
            [yes, no] if !self.analysis.shape(self.condition(block)).is_uniform() => {
                self.full_parting(block, yes, no)?;
            }
            [yes, no] => {
                let condition = self.condition(block);
                let condition = self.scalar(condition);
                let mut stores = self.phi_values(block, yes)?;
                stores.extend(self.phi_values(block, no)?);
                self.store_all(stores);
                self.builder.cond_br(condition, self.full[yes], self.full[no]);
            }
            _ => return Err(Refusal::ControlFlow),
        }
        Ok(())
    }

    fn full_edge(&mut self, from: usize, to: usize) -> Result<(), Refusal> {
        let stores = self.phi_values(from, to)?;
        self.store_all(stores);
        self.builder.br(self.full[to]);
        Ok(())
    }

    /// A branch on which lanes may part: while they agree, the full copy goes on.
    fn full_parting(&mut self, block: usize, yes: usize, no: usize) -> Result<(), Refusal> {
        let condition = self.condition(block);
        let [all, some, none, mixed] = ["all", "some", "none", "mixed"].map(|name| self.block(name));
        let agreement = self.agreement(condition);
        if let Some(agreement) = &agreement {
            let [is_all, is_none] = self.ends_agree(agreement);
            self.builder.cond_br(is_all, all, some);
            self.builder.position_at_end(some);
            self.builder.cond_br(is_none, none, mixed);
        } else {
            let lanes = self.vector(condition)?;
            let bits = self.bits(lanes);
            let is_all = self.builder.icmp(IntPredicate::Eq, bits, bits.ty().all_ones());
            self.builder.cond_br(is_all, all, some);
            self.builder.position_at_end(some);
            let is_none = self.builder.icmp(IntPredicate::Eq, bits, bits.ty().zero());
            self.builder.cond_br(is_none, none, mixed);
        }
        for (arm, next) in [(all, yes), (none, no)] {
            let registers = self.save_registers();
            self.builder.position_at_end(arm);
            self.full_edge(block, next)?;
            self.restore_registers(registers);
        }
        self.builder.position_at_end(mixed);
        let known = agreement.as_ref().and_then(|agreement| self.lanes_apart(agreement));
        let lanes = match (known, &agreement) {
            (Some(known), _) => {
                let truth = self.context().i1();
                self.constant_lanes(truth, |lane| i64::from(known >> lane & 1))
            }
            (None, Some(agreement)) => self.lanes_of_agreement(agreement)?,
            (None, None) => self.vector(condition)?,
        };
        if let Some(join) = self.join_of_arms(block, yes, no) {
            return self.arms(block, [yes, no], lanes, known, join);
        }
        self.builder.store(lanes, self.masks[yes]);
        let others = self.builder.not(lanes);
        self.builder.store(others, self.masks[no]);
        let mut stores = self.phi_values(block, yes)?;
        stores.extend(self.phi_values(block, no)?);
        self.store_all(stores);
        let target = self.first_masked(block, yes.min(no));
        self.builder.br(target);
        Ok(())
    }

    /// Where the ways of a branch meet again, when there is at most one short block on each of them.
    fn join_of_arms(&self, block: usize, yes: usize, no: usize) -> Option<usize> {
        let join = self.graph.post_dominators[block].filter(|&join| join > block)?;
        let is_arm = |arm: usize| {
            arm == join
                || (self.graph.predecessors[arm] == [block]
                    && self.graph.successors[arm] == [join]
                    && self.barrier_of(arm).is_none()
                    && self.instructions(arm).len() <= ARM_INSTRUCTIONS_MAX)
        };
        let is_alone =
            self.graph.predecessors[join].len() == 2 && self.graph.loop_of[join] == self.graph.loop_of[block];
        let is_plain = self.phis(join).all(|phi| phi.ty().fields().is_empty());
        (is_alone && is_plain && is_arm(yes) && is_arm(no)).then_some(join)
    }

    /// Writes both arms of a branch for the lanes that take them, of which each has one at least, and goes on with all lanes behind
    /// them. `known` are the lanes that go the first way.
    fn arms(
        &mut self,
        block: usize,
        arms: [usize; 2],
        lanes: Value<'m>,
        known: Option<u32>,
        join: usize,
    ) -> Result<(), Refusal> {
        let mut values = Vec::new();
        let registers = self.save_registers();
        for (arm, is_first) in arms.into_iter().zip([true, false]) {
            let from = if arm == join { block } else { arm };
            if arm != join {
                self.current = arm;
                self.mask = Some(if is_first { lanes } else { self.builder.not(lanes) });
                self.leading = known.map(|known| if is_first { known } else { !known }).and_then(leading_lanes);
                for instruction in self.instructions(arm) {
                    self.instruction(instruction)?;
                }
            }
            let found = self.phi_values(from, join);
            (self.mask, self.leading, self.current) = (None, None, block);
            values.push(found?);
        }
        let stores = values[0].iter().zip(&values[1]).map(|(&(yes, slot), &(no, _))| {
            let is_shared = yes == no;
            (if is_shared { yes } else { self.builder.select(lanes, yes, no) }, slot)
        });
        let stores = stores.collect();
        self.store_all(stores);
        self.restore_registers(registers);
        self.builder.br(self.full[join]);
        Ok(())
    }

    /// Where masked code goes from `block` when `next` is the first block with lanes: there, unless a loop ends in between.
    fn first_masked(&self, block: usize, next: usize) -> Block<'m> {
        let is_near = next > block && self.graph.loops_around(block).all(|at| self.graph.loops[at].latch >= next);
        if is_near { self.masked[next] } else { self.ends[block] }
    }

    /// The values that the edge gives to phis.
    fn phi_values(&mut self, from: usize, to: usize) -> Result<PhiStores<'m>, Refusal> {
        let mut stores = Vec::new();
        for phi in self.phis(to) {
            stores.extend(self.phi_value(from, phi)?);
        }
        Ok(stores)
    }

    /// The value that the edge gives to a phi, of which there is one for each row where rows have numbers of their own.
    fn phi_value(&mut self, from: usize, phi: Instruction<'m>) -> Result<PhiStores<'m>, Refusal> {
        let block = self.graph.blocks[from];
        let incoming = phi.incoming();
        let value = incoming.iter().find(|incoming| incoming.1 == block).map(|incoming| incoming.0);
        let value = value.expect("a phi has a value for each predecessor");
        let shape = self.analysis.shape(phi.as_value());
        if shape.by_rows().is_some() {
            let slot = |emitter: &Self, row| emitter.slot_of_row(phi.as_value(), row);
            return Ok((0..self.rows()).map(|row| (self.scalar_of_row(value, row), slot(self, row))).collect());
        }
        let value = if shape.is_varying() { self.vector(value)? } else { self.scalar(value) };
        Ok(vec![(value, self.slots[&phi.as_value()].address)])
    }

    /// All values are read before the first slot is written: a phi may ask for another one's old value.
    fn store_all(&self, stores: PhiStores<'m>) {
        for (value, slot) in stores {
            self.builder.store(value, slot);
        }
    }

    /// The copy for the lanes of a mask.
    pub(super) fn masked_block(&mut self, block: usize) -> Result<(), Refusal> {
        self.builder.position_at_end(self.masked[block]);
        let slot = self.masks[block];
        if self.lanes_meet_at(block) {
            let mask = self.builder.load(self.mask_ty(), slot).as_value();
            let bits = self.bits(mask);
            let meet = self.block("meet");
            let is_all = self.builder.icmp(IntPredicate::Eq, bits, bits.ty().all_ones());
            self.builder.cond_br(is_all, meet, self.resumes[block]);
            self.builder.position_at_end(meet);
            self.builder.store(self.mask_ty().zero(), slot);
            self.builder.br(self.full[block]);
        } else {
            self.builder.br(self.resumes[block]);
        }
        self.builder.position_at_end(self.resumes[block]);
        self.forget_registers();
        let mask = self.builder.load(self.mask_ty(), slot).as_value();
        self.builder.store(self.mask_ty().zero(), slot);
        let bits = self.bits(mask);
        let has_all = self.every_lane_comes_to(block);
        let is_skipped = !has_all && self.can_be_skipped(block);
        if is_skipped {
            let body = self.block("body");
            let any = self.builder.icmp(IntPredicate::Ne, bits, bits.ty().zero());
            // No lane enters a loop without one in its header.
            let own_loop = self.graph.loop_of[block].filter(|&at| self.graph.loops[at].header == block);
            let behind = own_loop.map_or(block, |at| self.graph.loops[at].latch);
            self.builder.cond_br(any, body, self.ends[behind]);
            self.builder.position_at_end(body);
        }
        self.mask = Some(mask);
        for instruction in self.instructions(block) {
            self.instruction(instruction)?;
        }
        self.masked_edges(block, mask, has_all || is_skipped)?;
        let end = if self.barrier_of(block).is_some() { self.barrier_block(block) } else { self.ends[block] };
        self.builder.br(end);
        self.masked_end(block);
        Ok(())
    }

    /// Whether masked code that comes to the block has all lanes of the SIMD-group there, of which there is one at least: a
    /// block outside of loops that each way through the function passes.
    fn every_lane_comes_to(&self, block: usize) -> bool {
        let mut on_each_way = std::iter::successors(Some(0), |&at| self.graph.post_dominators[at]);
        self.graph.loop_of[block].is_none() && on_each_way.any(|at| at == block)
    }

    /// The barrier that the block ends in.
    fn barrier_of(&self, block: usize) -> Option<Instruction<'m>> {
        let last = self.graph.blocks[block].terminator()?.previous()?;
        last.called_function().filter(|callee| callee.name() == MARKER).map(|_| last)
    }

    fn barrier_block(&mut self, block: usize) -> Block<'m> {
        if let Some(&known) = self.barriers.get(&block) {
            return known;
        }
        let barrier = self.block("barrier");
        self.barriers.insert(block, barrier);
        barrier
    }

    /// The barrier at the end of the block, which both copies have been written of.
    pub(super) fn barrier(&mut self, block: usize) {
        let Some(call) = self.barrier_of(block) else { return };
        let function = call.called_function().expect("it is a call of the marker");
        let next = self.graph.successors[block][0];
        let barrier = self.barrier_block(block);
        self.builder.position_at_end(barrier);
        self.builder.call(function, &[]);
        if !self.apart[block] {
            self.behind_whole_barrier(block, next);
            return;
        }
        let slot = self.masks[next];
        let mask = self.builder.load(self.mask_ty(), slot).as_value();
        let bits = self.bits(mask);
        let is_all = self.builder.icmp(IntPredicate::Eq, bits, bits.ty().all_ones());
        let meet = self.block("meet");
        self.builder.cond_br(is_all, meet, self.ends[block]);
        self.builder.position_at_end(meet);
        self.builder.store(self.mask_ty().zero(), slot);
        self.builder.br(self.full[next]);
    }

    /// Goes on behind a barrier at which all lanes of the SIMD-group wait: no masks need to be kept across it, since none but the
    /// next block's has lanes.
    fn behind_whole_barrier(&mut self, block: usize, next: usize) {
        for &mask in &self.masks {
            self.builder.store(self.mask_ty().zero(), mask);
        }
        self.enter(next, self.ends[block]);
    }

    /// Leaves the full copy of the current block, which has had no effect so far, for its masked copy with all lanes.
    pub(super) fn start_over(&self) {
        self.builder.store(self.mask_ty().all_ones(), self.masks[self.current]);
        self.builder.br(self.resumes[self.current]);
    }

    /// Where several ways meet, and where lanes that left a loop do.
    fn lanes_meet_at(&self, block: usize) -> bool {
        let predecessors = &self.graph.predecessors[block];
        let leaves = |&from: &usize| {
            self.graph.loops_around(from).any(|at| self.analysis.divergent[at] && !self.graph.loops[at].contains(block))
        };
        predecessors.len() > 1 || predecessors.iter().any(leaves)
    }

    fn can_be_skipped(&self, block: usize) -> bool {
        let instructions = self.instructions(block);
        let is_header = self.graph.loops.iter().any(|found| found.header == block);
        is_header
            || instructions.len() >= SKIPPED_INSTRUCTIONS_MIN
            || instructions.iter().any(|&instruction| self.needs_a_lane(instruction))
    }

    /// Whether an instruction may do harm when no lane runs it.
    fn needs_a_lane(&self, instruction: Instruction<'m>) -> bool {
        use openmps_llvm::BinaryOp as B;
        match instruction.opcode() {
            Opcode::Plain(PlainOp::Load | PlainOp::Store) => true,
            Opcode::Plain(PlainOp::Call | PlainOp::AtomicRmw | PlainOp::AtomicCmpXchg | PlainOp::Fence) => true,
            Opcode::Binary(B::UDiv | B::SDiv | B::URem | B::SRem | B::FRem) => true,
            Opcode::Binary(_) | Opcode::Cast(_) | Opcode::Plain(_) => false,
        }
    }

    /// Sends the lanes of `mask` to the successors.
    fn masked_edges(&mut self, block: usize, mask: Value<'m>, has_lanes: bool) -> Result<(), Refusal> {
        let successors = self.graph.successors[block].clone();
        let edges: Vec<(usize, Value<'m>)> = match successors[..] {
            [] => Vec::new(),
            [next] => vec![(next, mask)],
            [yes, no] if yes == no => vec![(yes, mask)],
            [yes, no] => {
                let condition = self.condition(block);
                if self.analysis.shape(condition).is_uniform() {
                    let condition = self.scalar(condition);
                    let condition = self.builder.freeze(condition);
                    let none = self.mask_ty().zero();
                    let taken = self.builder.select(condition, mask, none);
                    let others = self.builder.select(condition, none, mask);
                    vec![(yes, taken), (no, others)]
                } else {
                    // Lanes that do not run the block may have no defined condition.
                    let condition = self.vector(condition)?;
                    let condition = self.builder.freeze(condition);
                    let taken = self.builder.and(mask, condition);
                    let complement = self.builder.not(condition);
                    let others = self.builder.and(mask, complement);
                    vec![(yes, taken), (no, others)]
                }
            }
            _ => return Err(Refusal::ControlFlow),
        };
        let mut stores = Vec::new();
        for &(next, lanes) in &edges {
            let is_certain = has_lanes && lanes == mask;
            self.masked_phis(block, next, lanes, is_certain, &mut stores)?;
        }
        self.store_all(stores);
        for (next, lanes) in edges {
            let before = self.builder.load(self.mask_ty(), self.masks[next]).as_value();
            let lanes = self.builder.or(before, lanes);
            self.builder.store(lanes, self.masks[next]);
        }
        Ok(())
    }

    /// The values that an edge gives to phis, for the lanes on it. `is_certain` when there is one.
    fn masked_phis(
        &mut self,
        from: usize,
        to: usize,
        lanes: Value<'m>,
        is_certain: bool,
        stores: &mut PhiStores<'m>,
    ) -> Result<(), Refusal> {
        let leaves =
            self.graph.loops_around(from).any(|at| self.analysis.divergent[at] && !self.graph.loops[at].contains(to));
        let is_header = self.graph.loops.iter().any(|found| found.header == to);
        let is_first = self.graph.predecessors[to].iter().min() == Some(&from);
        // No other lane waits at the block with a value of its own.
        let is_alone = !leaves && (is_header || is_first);
        for phi in self.phis(to) {
            let is_varying = self.analysis.shape(phi.as_value()) == Shape::Varying;
            let values = self.phi_value(from, phi)?;
            let is_plain = if is_varying { is_alone } else { is_certain };
            if is_plain {
                stores.extend(values);
                continue;
            }
            if !phi.ty().fields().is_empty() {
                return Err(Refusal::CompositeValue);
            }
            let condition = if is_varying {
                lanes
            } else {
                let bits = self.bits(lanes);
                self.builder.icmp(IntPredicate::Ne, bits, bits.ty().zero())
            };
            for (value, slot) in values {
                let before = self.builder.load(value.ty(), slot).as_value();
                stores.push((self.builder.select(condition, value, before), slot));
            }
        }
        Ok(())
    }

    /// Goes back where `block` is the latch of loops that lanes want to repeat, else on.
    fn masked_end(&mut self, block: usize) {
        self.builder.position_at_end(self.ends[block]);
        let ended: Vec<usize> =
            self.graph.loops_around(block).filter(|&at| self.graph.loops[at].latch == block).collect();
        for at in ended {
            let header = self.graph.loops[at].header;
            let mask = self.builder.load(self.mask_ty(), self.masks[header]).as_value();
            let bits = self.bits(mask);
            let any = self.builder.icmp(IntPredicate::Ne, bits, bits.ty().zero());
            let on = self.block("on");
            self.builder.cond_br(any, self.masked[header], on);
            self.builder.position_at_end(on);
        }
        let next = self.masked.get(block + 1).copied().unwrap_or(self.exit);
        self.builder.br(next);
    }
}
