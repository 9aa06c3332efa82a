//! Shapes of all values, and where lanes go different ways.
//!
//! An optimistic fixpoint: values start unknown and go down. Where lanes part at a branch, phis vary at which two disjoint ways
//! meet again, a loop that only some lanes leave is divergent, and its values vary behind it. All blocks are taken to be executed
//! in order, each once for all lanes that come to it, as `emit` arranges.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use openmps_llvm::{Function, Instruction, Module, PlainOp, TypeKind, Value};

use super::graph::Graph;
use super::private::PrivateMemory;
use super::refusal::Refusal;
use super::shape::Shape;
use super::transfer;

/// What is known of a function's values.
pub(super) struct Analysis<'m> {
    shapes: HashMap<Value<'m>, Shape>,
    /// Lanes of a row.
    pub(super) row_lanes: u32,
    /// Private memory that is laid out lane by lane.
    pub(super) private: PrivateMemory<'m>,
    /// Blocks at whose end lanes part.
    pub(super) parts: Vec<bool>,
    /// Loops that lanes leave at different times.
    pub(super) divergent: Vec<bool>,
    /// Blocks where two ways of parted lanes meet.
    joins: BTreeSet<usize>,
}

impl<'m> Analysis<'m> {
    /// `seeds` are the shapes of the parameters; lanes lie in rows of `row_lanes`.
    ///
    /// # Errors
    /// A value that leaves a divergent loop without a phi.
    pub(super) fn new(
        module: &Module<'m>,
        function: Function<'m>,
        graph: &Graph<'m>,
        seeds: &[Shape],
        row_lanes: u32,
    ) -> Result<Self, Refusal> {
        let shapes = function.parameters().into_iter().zip(seeds.iter().copied()).collect();
        let mut analysis = Self {
            shapes,
            row_lanes,
            private: PrivateMemory::find(module, function),
            parts: vec![false; graph.blocks.len()],
            divergent: vec![false; graph.loops.len()],
            joins: BTreeSet::new(),
        };
        let instructions: Vec<Vec<Instruction<'m>>> = graph.blocks.iter().map(|block| block.instructions()).collect();
        while analysis.step(module, graph, &instructions) {}
        // Phis that nothing defined comes to, and what is computed from them.
        let phis = instructions.iter().flatten().filter(|it| it.opcode().is(PlainOp::Phi)).map(|phi| phi.as_value());
        for phi in phis.collect::<Vec<_>>() {
            if analysis.known(phi).is_none() {
                analysis.shapes.insert(phi, Shape::Uniform);
                while analysis.step(module, graph, &instructions) {}
            }
        }
        analysis.check_loop_values(graph, &instructions)?;
        Ok(analysis)
    }

    /// The shape of `value`. What no lane computes counts as uniform.
    pub(super) fn shape(&self, value: Value<'m>) -> Shape {
        self.known(value).unwrap_or(Shape::Uniform)
    }

    fn known(&self, value: Value<'m>) -> Option<Shape> {
        if value.as_instruction().is_none() && !value.is_argument() {
            return Some(Shape::Uniform);
        }
        self.shapes.get(&value).copied()
    }

    /// One pass over all blocks; whether anything changed.
    fn step(&mut self, module: &Module<'m>, graph: &Graph<'m>, instructions: &[Vec<Instruction<'m>>]) -> bool {
        let mut changed = false;
        for (block, instructions) in instructions.iter().enumerate() {
            for &instruction in instructions.iter().filter(|it| !it.ty().is_void()) {
                let Some(found) = self.compute(module, graph, block, instruction) else { continue };
                let value = instruction.as_value();
                let before = self.shapes.get(&value).copied();
                let now = before.map_or(found, |before| before.meet(found)).for_rows_of(self.row_lanes);
                if before != Some(now) {
                    self.shapes.insert(value, now);
                    changed = true;
                }
            }
            changed |= self.part(graph, block);
        }
        changed
    }

    fn compute(
        &self,
        module: &Module<'m>,
        graph: &Graph<'m>,
        block: usize,
        instruction: Instruction<'m>,
    ) -> Option<Shape> {
        let value = instruction.as_value();
        if instruction.opcode().is(PlainOp::Phi) {
            return self.phi(graph, block, instruction);
        }
        if let Some(index_varies) = self.private.address(value, |index| Some(!self.known(index)?.is_uniform())) {
            return Some(if index_varies? { Shape::Varying } else { Shape::Uniform });
        }
        if instruction.opcode().is(PlainOp::Alloca) {
            let bytes = module.size_bytes(instruction.allocated_type()?);
            let bytes = bytes.saturating_mul(instruction.operand(0).as_const_int().unwrap_or(1));
            return Some(i64::try_from(bytes).map_or(Shape::Varying, |bytes| Shape::step(bytes, self.row_lanes)));
        }
        let is_private = instruction.opcode().is(PlainOp::Load) && self.private.contains(instruction.operand(0));
        if is_private {
            return Some(Shape::Varying);
        }
        let shape = transfer::shape_of(module, self.row_lanes, instruction, &|operand| self.known(operand))?;
        // What vectors of one element a lane cannot hold.
        Some(match (shape, instruction.ty().kind()) {
            (Shape::Affine(_), TypeKind::Integer(1)) => Shape::Varying,
            (shape, _) => shape,
        })
    }

    fn phi(&self, graph: &Graph<'m>, block: usize, phi: Instruction<'m>) -> Option<Shape> {
        if self.joins.contains(&block) {
            return Some(Shape::Varying);
        }
        let mut met: Option<Shape> = None;
        for (value, from) in phi.incoming() {
            let Some(from) = graph.number(from) else { continue };
            let leaves = graph.loops_around(from).any(|at| self.divergent[at] && !graph.loops[at].contains(block));
            if leaves {
                return Some(Shape::Varying);
            }
            if value.is_undef() {
                continue;
            }
            if let Some(shape) = self.known(value) {
                met = Some(met.map_or(shape, |met| met.meet(shape)));
            }
        }
        met.map(|met| if met.is_checked() { Shape::Varying } else { met })
    }

    /// Finds whether lanes part at the end of `block`, and what follows from it; whether that is new.
    fn part(&mut self, graph: &Graph<'m>, block: usize) -> bool {
        if self.parts[block] || graph.successors[block].len() != 2 {
            return false;
        }
        let condition = graph.blocks[block].terminator().and_then(Instruction::condition);
        let varies = condition.and_then(|condition| self.known(condition)).is_some_and(|shape| !shape.is_uniform());
        // Lanes that leave a divergent loop here do so in different turns.
        let leaves = graph.loops_around(block).any(|at| {
            self.divergent[at] && graph.successors[block].iter().any(|&next| !graph.loops[at].contains(next))
        });
        if !varies && !leaves {
            return false;
        }
        self.parts[block] = true;
        for left in self.follow_ways(graph, block) {
            self.divergent[left] = true;
        }
        true
    }

    /// Labels blocks by the way on which lanes that part at `block` reach them in the same turn of the loops around it; a block with
    /// two labels is a join, and starts a way of its own. Returns the loops that lanes leave, or begin another turn of, on ways
    /// of different labels: lanes that meet again only in a later turn have been apart in this one.
    fn follow_ways(&mut self, graph: &Graph<'m>, block: usize) -> Vec<usize> {
        let mut labels: BTreeMap<usize, usize> = BTreeMap::new();
        let mut open: BTreeSet<usize> = BTreeSet::new();
        let mut ends: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        let mut went_back = false;
        let mut edges: Vec<(usize, usize, usize)> =
            graph.successors[block].iter().map(|&next| (block, next, next)).collect();
        loop {
            for (from, next, label) in edges.drain(..) {
                let ended = graph.loops_around(from).filter(|&at| next <= from || !graph.loops[at].contains(next));
                let is_back = next <= from;
                let innermost = |at: &usize| !is_back || graph.loops[*at].header == next;
                ended.filter(innermost).for_each(|at| {
                    ends.entry(at).or_default().insert(label);
                });
                went_back |= is_back;
                if is_back {
                    continue;
                }
                match labels.get(&next) {
                    None => {
                        labels.insert(next, label);
                    }
                    Some(&other) if other != label => {
                        self.joins.insert(next);
                        labels.insert(next, next);
                    }
                    Some(_) => {}
                }
                open.insert(next);
            }
            let Some(at) = open.pop_first() else { break };
            // All lanes are together again.
            if open.is_empty() && !went_back {
                break;
            }
            edges.extend(graph.successors[at].iter().map(|&next| (at, next, labels[&at])));
        }
        ends.into_iter().filter(|(_, labels)| labels.len() > 1).map(|(left, _)| left).collect()
    }

    /// The blocks that some lanes may run while others are elsewhere.
    pub(super) fn apart(&self, graph: &Graph<'m>) -> Vec<bool> {
        let mut apart = vec![false; graph.blocks.len()];
        for block in (0..apart.len()).filter(|&block| self.parts[block]) {
            for other in graph.region(block) {
                apart[other] = true;
            }
        }
        for (found, _) in graph.loops.iter().zip(&self.divergent).filter(|(_, divergent)| **divergent) {
            apart[found.header..=found.latch].fill(true);
        }
        apart
    }

    fn check_loop_values(&self, graph: &Graph<'m>, instructions: &[Vec<Instruction<'m>>]) -> Result<(), Refusal> {
        for (number, found) in graph.loops.iter().enumerate().filter(|(number, _)| self.divergent[*number]) {
            let inside = instructions[found.header..=found.latch].iter().flatten();
            for user in inside.flat_map(|instruction| instruction.as_value().users()) {
                let Some(user) = user.as_instruction() else { continue };
                let block = user.block().and_then(|block| graph.number(block));
                let is_outside = block.is_some_and(|block| !graph.loops[number].contains(block));
                if is_outside && !user.opcode().is(PlainOp::Phi) {
                    return Err(Refusal::LoopValue);
                }
            }
        }
        Ok(())
    }
}
