//! Random expressions.

use super::super::program::{Builtin, Expr, INPUT_ELEMENTS, PARAMETER_SMALL, PARAMETERS, Space, Ty};
use super::super::scalar::{BinaryOp, FLOAT_FUNCTIONS, FLOAT_PAIRS, INTEGER_FUNCTIONS, INTEGER_PAIRS, Scalar, UnaryOp};
use super::statement::ASSIGNED;
use super::{Generator, Phase, constant};

/// Whether all threads of a threadgroup must get the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    Uniform,
    Any,
}

const ARITHMETIC: [BinaryOp; 3] = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul];
const BITWISE: [BinaryOp; 5] = [BinaryOp::And, BinaryOp::Or, BinaryOp::Xor, BinaryOp::Shl, BinaryOp::Shr];
const COMPARISONS: [BinaryOp; 4] = [BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt, BinaryOp::Le];

fn boxed(expr: Expr) -> Box<Expr> {
    Box::new(expr)
}

impl Generator<'_> {
    /// An expression of type `ty`, with operators nested at most `depth` deep.
    pub(super) fn expr(&mut self, ty: Ty, depth: u32, reach: Reach) -> Expr {
        if depth == 0 || self.one_in(6) {
            return self.leaf(ty, reach);
        }
        let depth = depth - 1;
        match self.random.below(12) {
            0 => self.converted(ty, depth, reach),
            1 if ty.lanes == 1 || ty.scalar != Scalar::Bool => {
                let lanes = if ty.lanes > 1 && self.one_in(2) { ty.lanes } else { 1 };
                let condition = self.expr(Ty { scalar: Scalar::Bool, lanes }, depth, reach);
                let (a, b) = (self.expr(ty, depth, reach), self.expr(ty, depth, reach));
                Expr::Select(boxed(condition), boxed(a), boxed(b))
            }
            2 if ty.lanes > 1 => {
                Expr::Vector((0..ty.lanes).map(|_| self.expr(Ty::of(ty.scalar), depth, reach)).collect())
            }
            3 if ty.scalar.is_integer() => self.bits(ty, depth, reach),
            _ if ty.scalar == Scalar::Bool => self.truth(ty, depth, reach),
            _ if ty.scalar.is_float() => self.float(ty, depth, reach),
            _ => self.integer(ty, depth, reach),
        }
    }

    fn two(&mut self, op: BinaryOp, ty: Ty, depth: u32, reach: Reach) -> Expr {
        let (a, b) = (self.expr(ty, depth, reach), self.expr(ty, depth, reach));
        Expr::Binary(op, boxed(a), boxed(b))
    }

    fn integer(&mut self, ty: Ty, depth: u32, reach: Reach) -> Expr {
        match self.random.below(12) {
            0..4 => {
                let op = self.pick(&ARITHMETIC);
                self.two(op, ty, depth, reach)
            }
            4..7 => {
                let op = self.pick(&BITWISE);
                self.two(op, ty, depth, reach)
            }
            7 if ty.lanes == 1 => {
                let op = self.pick(&[BinaryOp::Div, BinaryOp::Rem]);
                let a = self.expr(ty, depth, reach);
                let b = match self.random.below(3) {
                    0 => constant(ty, self.pick(&[2, 3, 5, 7, 10, 16, 100, -3])),
                    1 => self.expr(ty, 0, Reach::Uniform),
                    _ => self.expr(ty, depth, reach),
                };
                Expr::Binary(op, boxed(a), boxed(b))
            }
            8 | 9 => {
                let op = self.pick(&INTEGER_PAIRS);
                self.two(op, ty, depth, reach)
            }
            _ => {
                let mut ops = vec![UnaryOp::Neg, UnaryOp::Not];
                ops.extend(INTEGER_FUNCTIONS);
                let op = self.pick(&ops);
                Expr::Unary(op, boxed(self.expr(ty, depth, reach)))
            }
        }
    }

    fn float(&mut self, ty: Ty, depth: u32, reach: Reach) -> Expr {
        // MSL has no functions of bfloat.
        let choices = if ty.scalar == Scalar::Bf16 { 6 } else { 10 };
        match self.random.below(choices) {
            0..5 => {
                let op = self.pick(&ARITHMETIC);
                self.two(op, ty, depth, reach)
            }
            5 => self.two(BinaryOp::Div, ty, depth, reach),
            6 => {
                let op = self.pick(&FLOAT_PAIRS);
                self.two(op, ty, depth, reach)
            }
            7 if ty == Ty::F32 => {
                let [a, b, c] = [(); 3].map(|()| boxed(self.expr(ty, depth, reach)));
                Expr::Fma(a, b, c)
            }
            8 => Expr::Unary(UnaryOp::Neg, boxed(self.expr(ty, depth, reach))),
            _ => {
                let op = self.pick(&FLOAT_FUNCTIONS);
                Expr::Unary(op, boxed(self.expr(ty, depth, reach)))
            }
        }
    }

    /// A truth value, or a vector of them.
    pub(super) fn truth(&mut self, ty: Ty, depth: u32, reach: Reach) -> Expr {
        let lanes = ty.lanes;
        match self.random.below(8) {
            0 => {
                let op = self.pick(&[BinaryOp::And, BinaryOp::Or, BinaryOp::Xor]);
                self.two(op, ty, depth, reach)
            }
            1 => Expr::Unary(UnaryOp::Not, boxed(self.expr(ty, depth, reach))),
            2 if lanes == 1 => {
                let lanes = self.pick(&[2, 3, 4]);
                let op = self.pick(&[UnaryOp::All, UnaryOp::Any]);
                Expr::Unary(op, boxed(self.truth(Ty { scalar: Scalar::Bool, lanes }, depth, reach)))
            }
            3 | 4 if lanes == 1 => {
                // An affine value against a uniform one.
                let op = self.pick(&[BinaryOp::Lt, BinaryOp::Le, BinaryOp::Eq]);
                let (a, _) = self.small(Ty::U32, 1, reach);
                let (b, _) = self.small(Ty::U32, 1, Reach::Uniform);
                let (a, b) = if self.one_in(3) { (b, a) } else { (a, b) };
                Expr::Binary(op, boxed(a), boxed(b))
            }
            _ => {
                let scalar = self.pick(&[Scalar::I32, Scalar::U32, Scalar::F32, Scalar::I8, Scalar::I64, Scalar::F16]);
                let op = self.pick(&COMPARISONS);
                self.two(op, Ty { scalar, lanes }, depth, reach)
            }
        }
    }

    /// A conversion from another type with as many lanes.
    fn converted(&mut self, ty: Ty, depth: u32, reach: Reach) -> Expr {
        let scalar = self.pick(&Scalar::STORED);
        let source = self.expr(ty.with(scalar), depth, reach);
        convert(ty, source, ty.with(scalar))
    }

    /// The bits of a value of another integer type.
    fn bits(&mut self, ty: Ty, depth: u32, reach: Reach) -> Expr {
        let width = ty.scalar.bits() as usize * ty.lanes;
        let fits = |scalar: &Scalar| {
            let bits = scalar.bits() as usize;
            scalar.is_integer()
                && width <= 64
                && width.is_multiple_of(bits)
                && [1, 2, 4].contains(&(width / bits))
                && ty.lanes != 3
        };
        let choices: Vec<Scalar> = Scalar::STORED.into_iter().filter(fits).collect();
        if choices.is_empty() {
            return self.leaf(ty, reach);
        }
        let scalar = self.pick(&choices);
        let source = self.expr(Ty { scalar, lanes: width / scalar.bits() as usize }, depth, reach);
        Expr::Bits(ty, boxed(source))
    }

    fn leaf(&mut self, ty: Ty, reach: Reach) -> Expr {
        let is_usable = |(number, of): &(usize, &Ty)| {
            let is_counter = self.counters.iter().any(|counter| counter.variable == *number);
            let is_own = match &self.function {
                Some(own) => own.contains(number),
                None => *number < ASSIGNED,
            };
            **of == ty && (reach == Reach::Any || self.uniform.contains(number)) && !is_counter && is_own
        };
        let variables: Vec<usize> =
            self.kernel.variables.iter().enumerate().filter(is_usable).map(|(number, _)| number).collect();
        if !variables.is_empty() && !self.one_in(3) {
            return Expr::Var(self.pick(&variables));
        }
        if self.one_in(4) {
            let value = self.pick(&[0, 1, 2, 3, 5, 17, -1, -7, 100]);
            return constant(ty, value);
        }
        let source = self.source(ty, reach);
        let source_ty = self.kernel.ty(&source);
        let source_ty = if source_ty.lanes == ty.lanes { source_ty } else { Ty::of(source_ty.scalar) };
        let converted = convert(Ty { scalar: ty.scalar, lanes: source_ty.lanes }, source, source_ty);
        if source_ty.lanes == ty.lanes { converted } else { Expr::Vector(vec![converted; ty.lanes]) }
    }

    /// A value from memory, the constant buffer or the thread's place.
    fn source(&mut self, ty: Ty, reach: Reach) -> Expr {
        let choice = self.random.below(12);
        if self.function.is_some() && matches!(choice, 5..=8) {
            return self.load(ty, reach);
        }
        match (choice, reach) {
            (0 | 1, Reach::Uniform) => Expr::Param(self.number(PARAMETERS)),
            (0, Reach::Any) => Expr::Param(self.number(PARAMETERS)),
            (1..4, _) => self.small(Ty::U32, 2, reach).0,
            (4, Reach::Any) if !self.kernel.arrays.is_empty() => {
                let array = self.number(self.kernel.arrays.len());
                Expr::Element { array, index: boxed(self.index_like(reach)) }
            }
            (5, Reach::Any) if !self.kernel.pointers.is_empty() => {
                let pointer = self.number(self.kernel.pointers.len());
                if self.kernel.pointers[pointer].space == Space::Shared && self.phase != Phase::Read {
                    return self.load(ty, reach);
                }
                Expr::ThroughPointer { pointer, index: boxed(self.small(Ty::U32, 1, reach).0) }
            }
            (6, Reach::Any) if self.kernel.shared.is_some() => {
                let is_counter = self.one_in(3);
                match self.phase {
                    Phase::Read if is_counter => Expr::Counter(boxed(self.index_like(reach))),
                    Phase::Read => Expr::Shared(boxed(self.small(Ty::U32, 1, reach).0)),
                    Phase::Write => Expr::OwnShared,
                }
            }
            (6, Reach::Uniform) if self.kernel.shared.is_some() && self.phase == Phase::Read && !self.has_returns => {
                Expr::Shared(boxed(self.small(Ty::U32, 1, reach).0))
            }
            (7, Reach::Any) => {
                let output = self.number(3);
                Expr::Own { output, slot: boxed(self.index_like(reach)) }
            }
            (8, Reach::Any) => {
                let is_vector = |ty: &Ty| ty.lanes > 1;
                let vectors: Vec<usize> = (0..ASSIGNED).filter(|at| is_vector(&self.kernel.variables[*at])).collect();
                if vectors.is_empty() {
                    return self.load(ty, reach);
                }
                let vector = Expr::Var(self.pick(&vectors));
                Expr::Lane(boxed(vector), boxed(self.index_like(reach)))
            }
            _ => self.load(ty, reach),
        }
    }

    /// Any `uint`, for what is taken modulo something.
    pub(super) fn index_like(&mut self, reach: Reach) -> Expr {
        match self.random.below(4) {
            0 => constant(Ty::U32, self.pick(&[0, 1, 2, 3, 5, 6, 7, 11])),
            1 => self.expr(Ty::U32, 1, reach),
            _ => self.small(Ty::U32, 1, reach).0,
        }
    }

    /// A load from an input buffer.
    fn load(&mut self, ty: Ty, reach: Reach) -> Expr {
        let same: Vec<usize> = (0..4).filter(|input| self.kernel.inputs[*input] == ty.scalar).collect();
        let buffer = if same.is_empty() || self.one_in(3) { self.number(4) } else { self.pick(&same) };
        let lanes = if ty.lanes == 2 || ty.lanes == 4 { self.pick(&[1, ty.lanes]) } else { 1 };
        let limit = (INPUT_ELEMENTS / lanes) as u64;
        let ty = self.pick(&[Ty::U32, Ty::I32, Ty::U32]);
        let (index, most) = self.small(ty, 2, reach);
        if most < limit {
            return Expr::Load { buffer, lanes, index: boxed(index), masked: false };
        }
        let index = if self.one_in(4) { self.expr(Ty::U32, 1, reach) } else { index };
        Expr::Load { buffer, lanes, index: boxed(index), masked: true }
    }

    /// A number that is not negative, of type `int` or `uint`, and the most it can be: affine in the thread's place more often than
    /// not, without masks, and by arithmetic that does not wrap.
    pub(super) fn small(&mut self, ty: Ty, depth: u32, reach: Reach) -> (Expr, u64) {
        if depth > 0 && !self.one_in(3) {
            let (a, most_a) = self.small(ty, depth - 1, reach);
            return match self.random.below(5) {
                0 | 1 => {
                    let reach = if self.one_in(2) { Reach::Uniform } else { reach };
                    let (b, most_b) = self.small(ty, depth - 1, reach);
                    (Expr::Plain(BinaryOp::Add, boxed(a), boxed(b)), most_a + most_b)
                }
                2 | 3 => {
                    let factor = self.pick(&[2, 3, 4, 1]);
                    let product = Expr::Plain(BinaryOp::Mul, boxed(a), boxed(constant(ty, factor)));
                    (product, most_a * u64::from(factor.unsigned_abs()))
                }
                _ => {
                    let most = i32::try_from(most_a).expect("small");
                    (Expr::Plain(BinaryOp::Sub, boxed(constant(ty, most)), boxed(a)), most_a)
                }
            };
        }
        let (leaf, leaf_ty, most) = self.small_leaf(reach);
        (convert(ty, leaf, leaf_ty), most)
    }

    fn small_leaf(&mut self, reach: Reach) -> (Expr, Ty, u64) {
        let choice = self.random.below(10);
        match choice {
            0 => {
                let value = self.pick(&[0, 1, 2, 3, 4, 8, 16, 31, 63, 100]);
                (constant(Ty::U32, value), Ty::U32, u64::from(value.unsigned_abs()))
            }
            1 => (Expr::Param(self.number(4)), Ty::I32, u64::from(PARAMETER_SMALL) - 1),
            2..5 if !self.counters.is_empty() => {
                let at = self.number(self.counters.len());
                let counter = self.counters[at];
                if reach == Reach::Any || counter.is_uniform {
                    return (Expr::Var(counter.variable), Ty::I32, counter.most);
                }
                (constant(Ty::U32, 1), Ty::U32, 1)
            }
            5 if reach == Reach::Any => {
                let mask = self.pick(&[1, 3, 7, 31, 127]);
                let any = self.expr(Ty::U32, 1, reach);
                let masked = Expr::Binary(BinaryOp::And, boxed(any), boxed(constant(Ty::U32, mask)));
                (masked, Ty::U32, u64::from(mask.unsigned_abs()))
            }
            _ if self.function.is_some() && reach == Reach::Uniform => {
                (Expr::Param(self.number(4)), Ty::I32, u64::from(PARAMETER_SMALL) - 1)
            }
            _ if let Some(own) = &self.function => {
                let any = Expr::Var(own[1]);
                (Expr::Binary(BinaryOp::And, boxed(any), boxed(constant(Ty::U32, 31))), Ty::U32, 31)
            }
            _ => {
                let builtin = self.built_in(reach);
                (Expr::Builtin(builtin), Ty::U32, builtin.most())
            }
        }
    }

    fn built_in(&mut self, reach: Reach) -> Builtin {
        let axis = self.number(self.kernel.dimensions);
        let all = [
            Builtin::Linear,
            Builtin::Linear,
            Builtin::Grid(axis),
            Builtin::Grid(0),
            Builtin::Local(axis),
            Builtin::Index,
            Builtin::Lane,
            Builtin::Simdgroup,
            Builtin::Group(axis),
            Builtin::GridSize(axis),
            Builtin::GroupSize(axis),
            Builtin::GroupThreads,
            Builtin::GridThreads,
        ];
        let choices: Vec<Builtin> =
            all.into_iter().filter(|builtin| reach == Reach::Any || builtin.is_uniform()).collect();
        self.pick(&choices)
    }

    /// A small integer as a number of type `ty`, whose sums over lanes are exact in any order.
    pub(super) fn tame(&mut self, ty: Ty) -> Expr {
        let mask = match ty.scalar {
            Scalar::Bf16 => 7,
            Scalar::F16 => 15,
            _ => 63,
        };
        let lane = |generator: &mut Self| {
            let any = generator.expr(Ty::U32, 2, Reach::Any);
            let masked = Expr::Binary(BinaryOp::And, boxed(any), boxed(constant(Ty::U32, mask)));
            convert_tame(Ty::of(ty.scalar), masked)
        };
        if ty.lanes == 1 { lane(self) } else { Expr::Vector((0..ty.lanes).map(|_| lane(self)).collect()) }
    }
}

/// `source` as `ty`.
pub(super) fn convert(ty: Ty, source: Expr, source_ty: Ty) -> Expr {
    if source_ty == ty {
        return source;
    }
    if source_ty.scalar.converts_exactly(ty.scalar) {
        return Expr::Convert(ty, boxed(source));
    }
    Expr::Convert(ty, boxed(Expr::Convert(ty.with(Scalar::F32), boxed(source))))
}

/// A small `uint` as `ty`: by way of a type that converts to bfloat at once.
fn convert_tame(ty: Ty, source: Expr) -> Expr {
    let short = Ty::of(Scalar::U16);
    Expr::Convert(ty, boxed(Expr::Convert(short, boxed(source))))
}
