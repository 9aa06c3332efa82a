//! Random statements.

use super::super::program::{
    AtomicOp, Builtin, Case, Counting, Expr, Function, LaneCall, LaneFunction, Space, Stmt, Ty, VarId,
};
use super::super::scalar::{BinaryOp, Scalar};
use super::expression::{Reach, convert};
use super::{Counter, Generator, Loop, Phase, constant};

/// Functions of any value.
const MOVES: [LaneFunction; 10] = [
    LaneFunction::BroadcastFirst,
    LaneFunction::Broadcast,
    LaneFunction::Shuffle,
    LaneFunction::ShuffleUp,
    LaneFunction::ShuffleDown,
    LaneFunction::ShuffleXor,
    LaneFunction::ShuffleRotateUp,
    LaneFunction::ShuffleRotateDown,
    LaneFunction::ShuffleAndFillUp,
    LaneFunction::ShuffleAndFillDown,
];
const SUMS: [LaneFunction; 5] = [
    LaneFunction::Sum,
    LaneFunction::Min,
    LaneFunction::Max,
    LaneFunction::PrefixInclusiveSum,
    LaneFunction::PrefixExclusiveSum,
];
const PRODUCTS: [LaneFunction; 3] =
    [LaneFunction::Product, LaneFunction::PrefixInclusiveProduct, LaneFunction::PrefixExclusiveProduct];
const BITWISE: [LaneFunction; 3] = [LaneFunction::And, LaneFunction::Or, LaneFunction::Xor];
const VOTES: [LaneFunction; 5] = [
    LaneFunction::All,
    LaneFunction::Any,
    LaneFunction::Ballot,
    LaneFunction::ActiveThreadsMask,
    LaneFunction::IsFirst,
];
/// Variables that statements assign; those behind them are counters and results of votes.
pub(super) const ASSIGNED: usize = 10;

impl Generator<'_> {
    pub(super) fn body(&mut self) -> Vec<Stmt> {
        // Variables begin with something of their own.
        let mut body = Vec::new();
        for variable in 0..ASSIGNED {
            let reach = if self.uniform.contains(&variable) { Reach::Uniform } else { Reach::Any };
            let value = self.expr(self.kernel.variables[variable], 1, reach);
            body.push(Stmt::Set(variable, value));
        }
        while self.budget > 0 {
            body.extend(self.statements());
        }
        body
    }

    /// Stores what the variables hold at the end.
    pub(super) fn epilogue(&mut self) -> Vec<Stmt> {
        let mut body = Vec::new();
        for output in 0..3 {
            let place = self.kernel.outputs[output];
            for slot in 0..place.slots {
                let variable = self.number(ASSIGNED);
                let ty = self.kernel.variables[variable];
                let mut value = Expr::Var(variable);
                if ty.lanes > 1 {
                    let lane = i32::try_from(slot).expect("few slots");
                    value = Expr::Lane(Box::new(value), Box::new(constant(Ty::U32, lane)));
                }
                let value = convert(Ty::of(place.scalar), value, Ty::of(ty.scalar));
                let slot = constant(Ty::U32, i32::try_from(slot).expect("few slots"));
                body.push(Stmt::Store { output, slot, value });
            }
        }
        body
    }

    fn block(&mut self, most: u32) -> Vec<Stmt> {
        let count = 1 + self.random.below(most);
        let mut body = Vec::new();
        for _ in 0..count {
            body.extend(self.statements());
        }
        body
    }

    fn assigned(&mut self) -> VarId {
        if let Some(own) = &self.function {
            let own = own.clone();
            return self.pick(&own);
        }
        loop {
            let variable = self.number(ASSIGNED);
            if !self.uniform.contains(&variable) {
                return variable;
            }
        }
    }

    /// One statement, or a few that belong together.
    fn statements(&mut self) -> Vec<Stmt> {
        self.budget = self.budget.saturating_sub(1);
        let is_deep = self.loops.len() >= 3 || self.budget == 0;
        if self.function.is_some() {
            return self.statements_of_function(is_deep);
        }
        match self.random.below(26) {
            0..3 if !is_deep => vec![self.branch()],
            3..5 if !is_deep => vec![self.counted()],
            5 if !is_deep => vec![self.repeated()],
            6 if !is_deep => vec![self.switch()],
            7 => self.jump(),
            8 | 9 if self.has_lanes => vec![self.lanes()],
            10 | 11 if self.has_barriers => self.exchange(),
            12 if self.has_atomics => vec![self.atomic()],
            13 => self.array_or_pointer(),
            14 => {
                let output = self.number(3);
                let slot = self.index_like(Reach::Any);
                let value = self.expr(Ty::of(self.kernel.outputs[output].scalar), 2, Reach::Any);
                vec![Stmt::Store { output, slot, value }]
            }
            15 if !self.is_divergent => {
                let variable = self.pick(&[4, 5]);
                let value = self.expr(self.kernel.variables[variable], 2, Reach::Uniform);
                vec![Stmt::Set(variable, value)]
            }
            16 if self.has_lanes && self.one_in(3) => vec![Stmt::SimdgroupBarrier],
            17 if !is_deep && self.one_in(2) => vec![self.entered()],
            18 => vec![self.call()],
            19 if !self.kernel.pointers.is_empty() => self.pointer(),
            _ => vec![self.assignment()],
        }
    }

    /// Inside of a function.
    fn statements_of_function(&mut self, is_deep: bool) -> Vec<Stmt> {
        match self.random.below(12) {
            0..3 if !is_deep => vec![self.branch()],
            3 if !is_deep => vec![self.counted()],
            4 if !is_deep => vec![self.repeated()],
            5 if !is_deep => vec![self.switch()],
            6 if !self.loops.is_empty() => self.jump(),
            7 if !self.kernel.arrays.is_empty() => self.set_element(),
            8 | 9 => {
                let condition = self.expr(Ty::BOOL, 2, Reach::Any);
                let ty = self.kernel.variables[self.function.as_ref().map_or(0, |own| own[0])];
                let value = self.expr(ty, 2, Reach::Any);
                vec![Stmt::If { condition, then: vec![Stmt::Leave(value)], otherwise: Vec::new() }]
            }
            _ => vec![self.assignment()],
        }
    }

    /// A call of a function with early returns, of the type of its first variable.
    fn call(&mut self) -> Stmt {
        let target = loop {
            let target = self.assigned();
            if self.kernel.variables[target].lanes == 1 {
                break target;
            }
        };
        let result_ty = self.kernel.variables[target];
        let types = [result_ty, Ty::U32, self.pick(&[Ty::I32, Ty::F32, Ty::BOOL])];
        let arguments: Vec<Expr> = types.iter().map(|ty| self.expr(*ty, 2, Reach::Any)).collect();
        let parameters: Vec<VarId> = types.iter().map(|ty| self.variable(*ty)).collect();
        let locals: Vec<VarId> = [result_ty, Ty::U32].iter().map(|ty| self.variable(*ty)).collect();
        let own: Vec<VarId> = parameters.iter().chain(&locals).copied().collect();
        let first_new = self.kernel.variables.len();
        let loops = std::mem::take(&mut self.loops);
        let counters = std::mem::take(&mut self.counters);
        let (in_switch, has_lanes, has_barriers, is_divergent) =
            (self.in_switch, self.has_lanes, self.has_barriers, self.is_divergent);
        (self.in_switch, self.has_lanes, self.has_barriers, self.is_divergent) = (false, false, false, true);
        let budget = std::mem::replace(&mut self.budget, 4);
        self.kernel.function_variables.extend(&own);
        self.function = Some(own);
        let body = self.block(3);
        let result = self.expr(result_ty, 2, Reach::Any);
        self.function = None;
        // Loop counters are declared where they count.
        self.kernel.function_variables.extend(first_new..self.kernel.variables.len());
        self.budget = budget;
        (self.in_switch, self.has_lanes, self.has_barriers, self.is_divergent) =
            (in_switch, has_lanes, has_barriers, is_divergent);
        (self.loops, self.counters) = (loops, counters);
        Stmt::Call { target, function: Box::new(Function { parameters, locals, body, result }), arguments }
    }

    /// A loop that some threads enter in the middle.
    fn entered(&mut self) -> Stmt {
        let turns = [5, 3, 2][self.loops.len()];
        let shared = self.kernel.shared.take();
        let phase = std::mem::replace(&mut self.phase, Phase::Write);
        let selector = self.index_like(Reach::Any);
        let condition = self.expr(Ty::BOOL, 2, Reach::Any);
        (self.kernel.shared, self.phase) = (shared, phase);
        // Who has met again in the middle is not Metal's to say.
        let has_lanes = std::mem::replace(&mut self.has_lanes, false);
        let first = self.loop_body(true);
        let second = self.loop_body(true);
        self.has_lanes = has_lanes;
        Stmt::Entered { selector, condition, turns, first, second }
    }

    fn assignment(&mut self) -> Stmt {
        let variable = self.assigned();
        let ty = self.kernel.variables[variable];
        if ty.lanes > 1 && self.one_in(3) {
            let lane = self.number(ty.lanes);
            return Stmt::SetLane(variable, lane, self.expr(Ty::of(ty.scalar), 2, Reach::Any));
        }
        Stmt::Set(variable, self.expr(ty, 3, Reach::Any))
    }

    /// Makes a body in which threads may be missing if `is_divergent`; both ends have the same phase.
    fn nested(&mut self, is_divergent: bool, most: u32) -> Vec<Stmt> {
        let outer = (self.is_divergent, self.phase);
        self.is_divergent |= is_divergent;
        let mut body = self.block(most);
        self.return_to(outer.1, &mut body);
        self.is_divergent = outer.0;
        body
    }

    fn return_to(&mut self, phase: Phase, body: &mut Vec<Stmt>) {
        if self.phase != phase {
            body.push(Stmt::Barrier);
            self.phase = phase;
        }
    }

    fn branch(&mut self) -> Stmt {
        let is_divergent = !self.one_in(3);
        let reach = if is_divergent { Reach::Any } else { Reach::Uniform };
        let condition = self.expr(Ty::BOOL, 2, reach);
        let then = self.nested(is_divergent, 3);
        let otherwise = if self.one_in(2) { self.nested(is_divergent, 3) } else { Vec::new() };
        Stmt::If { condition, then, otherwise }
    }

    fn counted(&mut self) -> Stmt {
        let is_divergent = self.one_in(2);
        let reach = if is_divergent { Reach::Any } else { Reach::Uniform };
        let count = self.index_like(reach);
        let modulo = [8, 4, 4][self.loops.len()];
        let counting = self.pick(&[Counting::Up, Counting::Up, Counting::Down, Counting::ByTwo]);
        let counter = self.variable(Ty::I32);
        self.counters.push(Counter {
            variable: counter,
            most: u64::from(modulo) - 1,
            is_uniform: !is_divergent && !self.is_divergent,
        });
        let body = self.loop_body(is_divergent);
        self.counters.pop();
        Stmt::For { counter, counting, count, modulo, body }
    }

    fn repeated(&mut self) -> Stmt {
        // Before the body, so that a condition is not one of the body's own.
        let turns = [7, 4, 3][self.loops.len()];
        let is_divergent = !self.one_in(3);
        let reach = if is_divergent { Reach::Any } else { Reach::Uniform };
        let phase = self.phase;
        // Threads that test the condition early read while others still write.
        self.phase = Phase::Write;
        let shared = self.kernel.shared.take();
        let condition = self.expr(Ty::BOOL, 2, reach);
        self.kernel.shared = shared;
        self.phase = phase;
        let body = self.loop_body(is_divergent);
        Stmt::While { condition, turns, is_tested_last: self.one_in(3), body }
    }

    fn loop_body(&mut self, is_divergent: bool) -> Vec<Stmt> {
        let in_switch = std::mem::replace(&mut self.in_switch, false);
        let phase = (!is_divergent && !self.is_divergent).then_some(self.phase);
        self.loops.push(Loop { phase, is_uniform: !is_divergent && !self.is_divergent });
        let body = self.nested(is_divergent, 4);
        self.loops.pop();
        self.in_switch = in_switch;
        body
    }

    fn switch(&mut self) -> Stmt {
        let is_divergent = !self.one_in(4);
        let reach = if is_divergent { Reach::Any } else { Reach::Uniform };
        let selector = self.index_like(reach);
        let count = 2 + self.random.below(3);
        let in_switch = std::mem::replace(&mut self.in_switch, true);
        let has_lanes = self.has_lanes;
        let falls = self.one_in(3);
        // Who has met again where a case falls into the next is not Metal's to say.
        self.has_lanes &= !falls;
        let mut cases = Vec::new();
        for _ in 0..count {
            let body = self.nested(is_divergent || falls, 2);
            cases.push(Case { body, falls_through: falls && self.one_in(2) });
        }
        self.has_lanes = has_lanes;
        self.in_switch = in_switch;
        Stmt::Switch { selector, cases }
    }

    /// `break`, `continue` or `return`, mostly under a condition that differs between threads.
    fn jump(&mut self) -> Vec<Stmt> {
        let Some(innermost) = self.loops.last().copied() else {
            if self.has_returns || !self.has_barriers {
                return self.leave(Stmt::Return);
            }
            return vec![self.assignment()];
        };
        if self.function.is_none() && self.one_in(4) && (self.has_returns || !self.has_barriers) {
            return self.leave(Stmt::Return);
        }
        let jump = if self.in_switch || self.one_in(2) { Stmt::Continue } else { Stmt::Break };
        // With barriers in the loop, all threads leave or none.
        if self.has_barriers && innermost.is_uniform {
            let is_here = !self.is_divergent && innermost.phase == Some(self.phase);
            if !is_here {
                return vec![self.assignment()];
            }
            let condition = self.expr(Ty::BOOL, 1, Reach::Uniform);
            return vec![Stmt::If { condition, then: vec![jump], otherwise: Vec::new() }];
        }
        let condition = self.expr(Ty::BOOL, 2, Reach::Any);
        // Uniform variables that the rest of the loop assigns would no longer be so.
        self.is_divergent |= !self.loops.is_empty();
        vec![Stmt::If { condition, then: vec![jump], otherwise: Vec::new() }]
    }

    fn leave(&mut self, jump: Stmt) -> Vec<Stmt> {
        let condition = self.expr(Ty::BOOL, 2, Reach::Any);
        // Few leave: the rest of the kernel would be for nobody.
        let lane = Expr::Builtin(Builtin::Index);
        let rare = Expr::Binary(BinaryOp::Rem, Box::new(lane), Box::new(constant(Ty::U32, 5)));
        let rare = Expr::Binary(BinaryOp::Eq, Box::new(rare), Box::new(constant(Ty::U32, 2)));
        let condition = Expr::Binary(BinaryOp::And, Box::new(condition), Box::new(rare));
        vec![Stmt::If { condition, then: vec![jump], otherwise: Vec::new() }]
    }

    /// Threadgroup memory: a store in the phase of stores, else a barrier where one may stand.
    fn exchange(&mut self) -> Vec<Stmt> {
        let may_wait = !self.is_divergent && self.loops.last().is_none_or(|innermost| innermost.is_uniform);
        let shared = self.kernel.shared_array();
        let chance = self.random.below(12);
        match self.phase {
            Phase::Write if may_wait && chance < 4 => {
                self.phase = Phase::Read;
                vec![Stmt::Barrier]
            }
            Phase::Write if chance < 6 => {
                let slot = self.index_like(Reach::Any);
                vec![Stmt::Atomic { op: AtomicOp::AddShared, slot, value: self.expr(Ty::U32, 1, Reach::Any) }]
            }
            Phase::Write => vec![Stmt::StoreShared(self.expr(Ty::of(shared.scalar), 2, Reach::Any))],
            Phase::Read if may_wait => {
                self.phase = Phase::Write;
                let value = self.expr(Ty::of(shared.scalar), 2, Reach::Any);
                vec![Stmt::Barrier, Stmt::StoreShared(value)]
            }
            Phase::Read => {
                let variable = self.assigned();
                let ty = self.kernel.variables[variable];
                let index = self.small(Ty::U32, 1, Reach::Any).0;
                let element = Expr::Shared(Box::new(index));
                let value = convert(Ty::of(ty.scalar), element, Ty::of(shared.scalar));
                if ty.lanes == 1 { vec![Stmt::Set(variable, value)] } else { vec![Stmt::SetLane(variable, 0, value)] }
            }
        }
    }

    fn atomic(&mut self) -> Stmt {
        let op = self.pick(&[
            AtomicOp::Add,
            AtomicOp::Min,
            AtomicOp::Max,
            AtomicOp::Or,
            AtomicOp::Xor,
            AtomicOp::AddFloat,
            AtomicOp::MaxSigned,
        ]);
        let value = match op {
            AtomicOp::AddFloat => self.tame(Ty::F32),
            AtomicOp::MaxSigned => self.expr(Ty::I32, 2, Reach::Any),
            _ => self.expr(Ty::U32, 2, Reach::Any),
        };
        Stmt::Atomic { op, slot: self.index_like(Reach::Any), value }
    }

    fn array_or_pointer(&mut self) -> Vec<Stmt> {
        if !self.kernel.arrays.is_empty() && self.one_in(2) {
            return self.set_element();
        }
        if self.kernel.pointers.is_empty() {
            return vec![self.assignment()];
        }
        self.pointer()
    }

    fn set_element(&mut self) -> Vec<Stmt> {
        let array = self.number(self.kernel.arrays.len());
        let index = self.index_like(Reach::Any);
        let value = self.expr(Ty::of(self.kernel.arrays[array]), 2, Reach::Any);
        vec![Stmt::SetElement { array, index, value }]
    }

    /// Moves a pointer, or stores through it.
    fn pointer(&mut self) -> Vec<Stmt> {
        let pointer = self.number(self.kernel.pointers.len());
        let of = self.kernel.pointers[pointer];
        let is_input = of.space == Space::Input;
        let others: Vec<usize> =
            (0..self.kernel.pointers.len()).filter(|other| self.kernel.pointers[*other] == of).collect();
        match self.random.below(6) {
            0 if is_input && self.loops.len() < 2 => {
                vec![Stmt::Advance { pointer, by: self.pick(&[1, 2, 3, 32]) }]
            }
            0 | 5 if matches!(of.space, Space::Output | Space::Private) => {
                let index = self.index_like(Reach::Any);
                let value = self.expr(Ty::of(of.scalar), 2, Reach::Any);
                vec![Stmt::StoreThrough { pointer, index, value }]
            }
            1 | 4 if others.len() > 1 => {
                let condition = self.expr(Ty::BOOL, 1, Reach::Any);
                vec![Stmt::PointElsewhere { pointer, condition, other: self.pick(&others) }]
            }
            _ => {
                let pointed = self.kernel.pointed(of);
                let buffer = self.pick(&pointed);
                let (mut offset, most) = self.small(Ty::U32, 1, Reach::Any);
                if is_input && most > 2047 {
                    let mask = Box::new(constant(Ty::U32, 2047));
                    offset = Expr::Binary(BinaryOp::And, Box::new(offset), mask);
                }
                vec![Stmt::PointTo { pointer, buffer, offset }]
            }
        }
    }

    fn lanes(&mut self) -> Stmt {
        let is_quad = self.one_in(6);
        if self.one_in(4) {
            let function = self.pick(&VOTES);
            let value = self.expr(Ty::BOOL, 2, Reach::Any);
            let target = self.variable(function.result(Ty::BOOL));
            let call = LaneCall { function, is_quad, value, operand: constant(Ty::U32, 0), fill: None };
            return self.used(target, call);
        }
        // MSL has no functions over lanes of 64-bit integers, and not all of bfloat.
        let can = |ty: &Ty| !matches!(ty.scalar, Scalar::Bool | Scalar::Bf16) && ty.scalar.bits() <= 32;
        let targets: Vec<usize> =
            (0..ASSIGNED).filter(|at| !self.uniform.contains(at) && can(&self.kernel.variables[*at])).collect();
        let target = self.pick(&targets);
        let ty = self.kernel.variables[target];
        let function = match self.random.below(5) {
            0 | 1 => self.pick(&SUMS),
            2 if !ty.scalar.is_float() => {
                let choices = [BITWISE, PRODUCTS].concat();
                self.pick(&choices)
            }
            _ => self.pick(&MOVES),
        };
        let value = if ty.scalar.is_float() && !MOVES.contains(&function) {
            self.tame(ty)
        } else {
            self.expr(ty, 2, Reach::Any)
        };
        let is_fill = matches!(function, LaneFunction::ShuffleAndFillUp | LaneFunction::ShuffleAndFillDown);
        let is_quad = is_quad && !is_fill;
        let operand = if function == LaneFunction::Shuffle && self.one_in(2) {
            self.index_like(Reach::Any)
        } else if self.one_in(3) && !is_fill {
            self.index_like(Reach::Uniform)
        } else {
            constant(Ty::U32, self.pick(&[0, 1, 2, 3, 4, 5, 8, 16, 31]))
        };
        let mut call = LaneCall { function, is_quad, value, operand, fill: None };
        if is_fill {
            let modulo = self.pick(&[32, 32, 16, 8, 4]);
            call.fill = Some((self.expr(ty, 1, Reach::Any), modulo));
            let delta = self.random.below(modulo);
            call.operand = constant(Ty::U32, i32::try_from(delta).expect("below 32"));
        }
        Stmt::Lanes { target, call }
    }

    /// A vote whose result goes into a variable that is stored.
    fn used(&mut self, target: VarId, call: LaneCall) -> Stmt {
        let ty = self.kernel.variables[target];
        let mixed = convert(Ty::U32, Expr::Var(target), ty);
        let mixed = Expr::Binary(BinaryOp::Xor, Box::new(Expr::Var(1)), Box::new(mixed));
        Stmt::If {
            condition: constant(Ty::BOOL, 1),
            then: vec![Stmt::Lanes { target, call }, Stmt::Set(1, mixed)],
            otherwise: Vec::new(),
        }
    }
}
