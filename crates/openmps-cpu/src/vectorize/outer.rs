//! Finds blocks of sums: `sums[i][j] += left[i] * right[j]` on 8x8 matrices, turn by turn of a loop, once arrays are values.
//!
//! As single products, many sums cost more loads and stores than arithmetic: a vector form has four registers of floats for a
//! matrix, and sixteen sums are more than all registers. A block of them becomes calls of [`crate::outer`], which multiplies
//! whole panels: sums move to the block's memory in front of the loop and back behind it, factors to the panels in each turn.
//!
//! Guarantees: results keep their bits, but for bfloat where `OPENMPS_ENGINE=vector` lets the matrix unit multiply. Only where no lanes are apart: otherwise those that wait elsewhere would get sums too.

use std::collections::HashMap;

use openmps_llvm::{
    Block as BasicBlock, Builder, CastOp, Function, Instruction, Module, Opcode, PlainOp, Type, TypeKind, Value,
};

use super::analysis::Analysis;
use super::graph::{Graph, listed_loops};
use super::marker::{
    MATRIX_LOAD, MATRIX_STORE, Marker, OUTER_BEGIN, OUTER_FILLED, OUTER_FINISH, OUTER_LOAD, OUTER_MEMORY, OUTER_STEP,
    OUTER_STORE,
};
use crate::lanes::LaneOperation;
use crate::outer::{Block, Factors};

/// What AIR's products of matrices are named.
const PRODUCT_PREFIX: &str = "air.simdgroup_matrix_8x8_multiply_accumulate.";
/// Fewest matrices of a block: the sums of fewer stay in registers anyway.
const MATRICES_MIN: usize = 8;

/// Two elements of a matrix.
type Pair<'m> = [Value<'m>; 2];

/// One sum of matrices that a loop adds to.
struct Sum<'m> {
    header: usize,
    phis: [Instruction<'m>; 2],
    initial: Pair<'m>,
    /// The products that are added in a turn, in order.
    products: Vec<Instruction<'m>>,
    /// What values behind the loop stand for it.
    exits: Vec<[Instruction<'m>; 2]>,
}

/// Sums that are a whole block.
struct Found<'m> {
    /// Row and column of each.
    sums: Vec<(Sum<'m>, usize, usize)>,
    block: Block,
    /// Of each step of a turn, the left and right factors.
    factors: Vec<(Vec<Pair<'m>>, Vec<Pair<'m>>)>,
}

impl<'m> Found<'m> {
    /// Has bfloat factors stay what they are, if all are.
    fn narrow(&mut self) {
        let narrow = |pair: &Pair<'m>| Some([bfloat(pair[0])?, bfloat(pair[1])?]);
        let all = |pairs: &Vec<Pair<'m>>| pairs.iter().map(narrow).collect::<Option<Vec<_>>>();
        let factors: Option<Vec<_>> =
            self.factors.iter().map(|(left, right)| Some((all(left)?, all(right)?))).collect();
        if let Some(factors) = factors {
            self.factors = factors;
            self.block.factors = Factors::Bfloat;
        }
    }
}

/// The bfloat that a float was.
fn bfloat(value: Value<'_>) -> Option<Value<'_>> {
    let cast = value.as_instruction().filter(|it| it.opcode() == Opcode::Cast(CastOp::FpExt))?;
    Some(cast.operand(0)).filter(|narrow| narrow.ty().kind() == TypeKind::BFloat)
}

/// Whether an instruction is the product of two matrices and a sum.
fn is_product(call: Instruction<'_>) -> bool {
    let marker = call.called_function().and_then(|callee| Marker::parse(&callee.name()));
    marker.is_some_and(|marker| marker.operation == LaneOperation::MatrixMultiplyAccumulate)
}

/// Makes blocks of the sums of `source`, those of bfloat for the matrix unit where there is one to be used; whether all products were part of one. Otherwise nothing has changed.
pub(super) fn run<'m>(
    module: &'m Module<'m>,
    source: Function<'m>,
    graph: &Graph<'m>,
    analysis: &Analysis<'m>,
    has_matrix_unit: bool,
) -> bool {
    let products: Vec<Instruction<'m>> = source.calls().into_iter().filter(|&call| is_product(call)).collect();
    let finder = Finder { graph, apart: analysis.apart(graph) };
    let sums: Vec<Sum<'m>> = products.iter().filter_map(|&product| finder.sum(product)).collect();
    let covered: usize = sums.iter().map(|sum| sum.products.len()).sum();
    if products.is_empty() || covered != products.len() {
        return false;
    }
    let Some(blocks) = blocks(sums) else { return false };
    for mut found in blocks {
        if has_matrix_unit {
            found.narrow();
        }
        Rewriter { module, builder: module.builder(), graph }.rewrite(found);
    }
    true
}

/// The elements of a call's result, if nothing else is done with it.
fn elements<'m>(call: Instruction<'m>) -> Option<[Instruction<'m>; 2]> {
    let mut found = [None, None];
    for user in call.as_value().users() {
        let extract = user.as_instruction().filter(|user| user.opcode().is(PlainOp::ExtractValue))?;
        let place = found.get_mut(usize::try_from(*extract.indices().first()?).ok()?)?;
        if place.replace(extract).is_some() {
            return None;
        }
    }
    Some([found[0]?, found[1]?])
}

fn pair<'m>(product: Instruction<'m>, first: usize) -> Option<Pair<'m>> {
    let arguments = product.arguments();
    Some([*arguments.get(first)?, *arguments.get(first + 1)?])
}

struct Finder<'a, 'm> {
    graph: &'a Graph<'m>,
    apart: Vec<bool>,
}

impl<'m> Finder<'_, 'm> {
    fn block_of(&self, instruction: Instruction<'m>) -> Option<usize> {
        self.graph.number(instruction.block()?)
    }

    /// The sum whose first product of a turn is `product`.
    fn sum(&self, product: Instruction<'m>) -> Option<Sum<'m>> {
        let before = pair(product, 4)?;
        let phis = [before[0].as_instruction()?, before[1].as_instruction()?];
        let header = self.block_of(phis[0])?;
        let found = self.graph.loops.iter().find(|found| found.header == header)?;
        let preheaders: Vec<usize> =
            self.graph.predecessors[header].iter().copied().filter(|&from| from != found.latch).collect();
        let [preheader] = preheaders[..] else { return None };
        let is_together = |block: usize| !self.apart[block];
        if !(found.header..=found.latch).all(is_together) || !is_together(preheader) {
            return None;
        }
        let mut sum = Sum { header, phis, initial: before, products: vec![product], exits: Vec::new() };
        // What stands for the sum in the turn: behind the loop it may be the phi, where the loop ends before its products, or the last.
        let mut last = elements(product)?;
        while let Some(next) = self.next_product(last, header)? {
            sum.products.push(next);
            last = elements(next)?;
        }
        for element in 0..2 {
            let phi = phis[element];
            if !phi.opcode().is(PlainOp::Phi) || self.block_of(phi) != Some(header) {
                return None;
            }
            let incoming = phi.incoming();
            let from = |block: usize| {
                let is_it = |(_, from): &&(Value<'m>, BasicBlock<'m>)| self.graph.number(*from) == Some(block);
                incoming.iter().find(is_it).map(|&(value, _)| value)
            };
            if from(found.latch)? != last[element].as_value() {
                return None;
            }
            sum.initial[element] = from(preheader)?;
        }
        // In a loop inside of this one a product would be made several times, from the same sum.
        let own = self.graph.loop_of[header];
        if !sum.products.iter().all(|&it| self.block_of(it).is_some_and(|block| self.graph.loop_of[block] == own)) {
            return None;
        }
        sum.exits = self.exits(&sum, last)?;
        Some(sum)
    }

    /// The product that a product's result goes to, if any; none at all where it goes elsewhere too.
    fn next_product(&self, result: [Instruction<'m>; 2], header: usize) -> Option<Option<Instruction<'m>>> {
        let is_inside = |user: &Instruction<'m>| {
            let is_phi = user.opcode().is(PlainOp::Phi);
            !is_phi || self.block_of(*user) == Some(header)
        };
        let mut next = None;
        for (element, value) in result.into_iter().enumerate() {
            let users: Vec<Instruction<'m>> =
                value.as_value().users().into_iter().filter_map(Value::as_instruction).filter(is_inside).collect();
            let [user] = users[..] else { return None };
            let found = user.opcode().is(PlainOp::Call).then_some(user);
            if element == 1 && next != Some(found) {
                return None;
            }
            next = Some(found);
            let Some(call) = found else { continue };
            let arguments = call.arguments();
            let uses = arguments.iter().filter(|&&argument| argument == value.as_value()).count();
            if !is_product(call) || uses != 1 || arguments.get(4 + element) != Some(&value.as_value()) {
                return None;
            }
        }
        let next = next?;
        // With another product behind it, nothing else may know the sum between them.
        let is_last = next.is_none();
        let all = |value: Instruction<'m>| value.as_value().users().len();
        (is_last || result.iter().all(|&value| all(value) == 1)).then_some(next)
    }

    /// The phis behind the loop; none at all where a value of the loop is used in another way.
    fn exits(&self, sum: &Sum<'m>, last: [Instruction<'m>; 2]) -> Option<Vec<[Instruction<'m>; 2]>> {
        let found = self.graph.loops.iter().find(|found| found.header == sum.header)?;
        let first_block = self.block_of(sum.products[0])?;
        let mut exits: [Vec<Instruction<'m>>; 2] = [Vec::new(), Vec::new()];
        for element in 0..2 {
            let (phi, last) = (sum.phis[element], last[element]);
            for value in [phi, last] {
                for user in value.as_value().users() {
                    let user = user.as_instruction()?;
                    let block = self.block_of(user)?;
                    if found.contains(block) {
                        let is_known = match value == phi {
                            true => user == sum.products[0],
                            false => user == phi,
                        };
                        if !is_known {
                            return None;
                        }
                        continue;
                    }
                    if !exits[element].contains(&user) {
                        exits[element].push(user);
                    }
                }
            }
            if sum.products[0].arguments().iter().filter(|&&argument| argument == phi.as_value()).count() != 1 {
                return None;
            }
            for &exit in &exits[element] {
                let block = self.block_of(exit)?;
                let is_phi = exit.opcode().is(PlainOp::Phi) && !self.apart[block];
                let is_sum = |(value, from): (Value<'m>, BasicBlock<'m>)| {
                    let from = self.graph.number(from);
                    let is_before = from == Some(sum.header) && first_block != sum.header;
                    from.is_some_and(|from| found.contains(from))
                        && (value == last.as_value() || (value == phi.as_value() && is_before))
                };
                if !is_phi || !exit.incoming().into_iter().all(is_sum) {
                    return None;
                }
            }
        }
        // An exit where only one element is known stays out.
        let [firsts, seconds] = exits;
        let of_block = |phi: Instruction<'m>| seconds.iter().copied().find(|other| other.block() == phi.block());
        let pairs: Option<Vec<[Instruction<'m>; 2]>> =
            firsts.iter().map(|&first| Some([first, of_block(first)?])).collect();
        pairs.filter(|pairs| pairs.len() == seconds.len())
    }
}

/// Groups sums that share factors; none where some do not form a whole block.
fn blocks(sums: Vec<Sum<'_>>) -> Option<Vec<Found<'_>>> {
    let mut groups: Vec<Vec<Sum<'_>>> = Vec::new();
    for sum in sums {
        let shares = |other: &Sum<'_>| {
            let (left, right) = (pair(sum.products[0], 0), pair(sum.products[0], 2));
            other.header == sum.header && (pair(other.products[0], 0) == left || pair(other.products[0], 2) == right)
        };
        let (mut own, others): (Vec<_>, Vec<_>) = groups.into_iter().partition(|group| group.iter().any(shares));
        groups = others;
        let mut joined: Vec<Sum<'_>> = own.drain(..).flatten().collect();
        joined.push(sum);
        groups.push(joined);
    }
    groups.into_iter().map(block_of).collect()
}

fn block_of(sums: Vec<Sum<'_>>) -> Option<Found<'_>> {
    let steps = sums.first()?.products.len();
    let mut factors: Vec<(Vec<Pair<'_>>, Vec<Pair<'_>>)> = Vec::new();
    let mut places: Vec<(usize, usize)> = Vec::new();
    for step in 0..steps {
        let (mut left, mut right) = (HashMap::new(), HashMap::new());
        let mut both: (Vec<Pair<'_>>, Vec<Pair<'_>>) = (Vec::new(), Vec::new());
        for (number, sum) in sums.iter().enumerate() {
            let product = *sum.products.get(step).filter(|_| sum.products.len() == steps)?;
            if product.block() != sums[0].products[step].block() {
                return None;
            }
            let (a, b) = (pair(product, 0)?, pair(product, 2)?);
            if step == 0 {
                let (rows, columns) = (left.len(), right.len());
                places.push((*left.entry(a).or_insert(rows), *right.entry(b).or_insert(columns)));
            } else {
                let (row, column) = places[number];
                if *left.entry(a).or_insert(row) != row || *right.entry(b).or_insert(column) != column {
                    return None;
                }
            }
        }
        for (found, all) in [(left, &mut both.0), (right, &mut both.1)] {
            let mut ordered: Vec<(usize, Pair<'_>)> = found.into_iter().map(|(pair, place)| (place, pair)).collect();
            ordered.sort_by_key(|&(place, _)| place);
            // Two different factors at one place of a later step.
            if ordered.iter().enumerate().any(|(at, &(place, _))| at != place) {
                return None;
            }
            all.extend(ordered.into_iter().map(|(_, pair)| pair));
        }
        factors.push(both);
    }
    let block = Block { rows: factors.first()?.0.len(), columns: factors.first()?.1.len(), factors: Factors::Float };
    let mut distinct = places.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let is_whole = distinct.len() == places.len() && places.len() == block.rows * block.columns;
    let is_same = factors.iter().all(|(left, right)| left.len() == block.rows && right.len() == block.columns);
    let is_worth = places.len() >= MATRICES_MIN && block.rows.min(block.columns) >= 2;
    let fits = block.rows.max(block.columns) <= Block::SIDE_MAX;
    let sums = sums.into_iter().zip(places).map(|(sum, (row, column))| (sum, row, column)).collect();
    (is_whole && is_same && is_worth && fits).then_some(Found { sums, block, factors })
}

struct Rewriter<'a, 'm> {
    module: &'m Module<'m>,
    builder: Builder<'m>,
    graph: &'a Graph<'m>,
}

impl<'m> Rewriter<'_, 'm> {
    fn function(&self, name: &str, result: Type<'m>, parameters: &[Type<'m>]) -> Function<'m> {
        let ty = self.module.context().function(result, parameters);
        self.module.function(name).unwrap_or_else(|| self.module.add_function(name, ty))
    }

    fn number(&self, value: u64) -> Value<'m> {
        self.module.context().i64().const_int(value)
    }

    fn call(&self, name: &str, result: Type<'m>, arguments: &[Value<'m>]) -> Instruction<'m> {
        let types: Vec<Type<'m>> = arguments.iter().map(|argument| argument.ty()).collect();
        self.builder.call(self.function(name, result, &types), arguments)
    }

    fn store(&self, elements: Pair<'m>, address: Value<'m>, row_step: usize) {
        let context = self.module.context();
        let [first, second] = elements;
        let steps = [self.number(row_step as u64), self.number(1)];
        let name = if first.ty() == context.float() { "float" } else { "bfloat" };
        self.call(&format!("{OUTER_STORE}{name}"), context.void(), &[first, second, address, steps[0], steps[1]]);
    }

    /// Goes where a factor is known, that it need not stay in registers until all others are; but not before `first`.
    fn position_behind(&self, factor: Pair<'m>, first: Instruction<'m>) {
        let all = first.block().map(BasicBlock::instructions).unwrap_or_default();
        let place = |instruction: Instruction<'m>| all.iter().position(|&it| it == instruction);
        let made = factor.into_iter().filter_map(Value::as_instruction).filter_map(place).max();
        let behind = made.filter(|&made| Some(made) >= place(first)).and_then(|made| all.get(made + 1).copied());
        let behind = behind.filter(|it| !it.opcode().is(PlainOp::Phi));
        self.builder.position_before(behind.unwrap_or(first));
    }

    fn rewrite(&self, found: Found<'m>) {
        let context = self.module.context();
        let (void, pointer, long) = (context.void(), context.pointer(0), context.i64());
        let Found { sums, block, factors } = found;
        let code = self.number(block.code());
        let entry = self.graph.blocks[0];
        self.builder.position_before(entry.first_non_phi().expect("a block ends in an instruction"));
        let memory = self.call(OUTER_MEMORY, pointer, &[self.number(block.bytes())]).as_value();
        let header = sums[0].0.header;
        let latch = self.graph.loops.iter().find(|found| found.header == header).map(|found| found.latch);
        let before = self.graph.predecessors[header].iter().copied().find(|&from| Some(from) != latch);
        let before = self.graph.blocks[before.expect("the finder saw it")];
        self.builder.position_before(before.terminator().expect("a block ends in an instruction"));
        self.call(OUTER_BEGIN, void, &[memory]);
        for (sum, row, column) in &sums {
            let address = self.builder.byte_offset(memory, block.sum_offset_bytes(*row, *column));
            self.store(sum.initial, address, block.row_step());
        }
        // Where the panels' next places are free.
        let mut earliest: Option<Instruction<'m>> = None;
        for (step, (left, right)) in factors.iter().enumerate() {
            // All factors are known where the last product is.
            let products: Vec<Instruction<'m>> = sums.iter().map(|(sum, ..)| sum.products[step]).collect();
            let home = products[0].block().expect("a product is in a block");
            let last = home.instructions().into_iter().rfind(|it| products.contains(it));
            let last = last.expect("the products are there");
            let first = earliest.filter(|it| it.block() == last.block());
            let first = first.or_else(|| home.first_non_phi()).expect("a block ends in an instruction");
            self.builder.position_before(first);
            let filled = self.call(OUTER_FILLED, long, &[memory]).as_value();
            let down = self.builder.mul(filled, self.number(block.row_step() as u64));
            for (row, &factor) in left.iter().enumerate() {
                self.position_behind(factor, first);
                let start = self.builder.byte_offset(memory, block.left_matrix_bytes(row));
                let address = self.builder.gep(factor[0].ty(), start, &[filled]);
                self.store(factor, address, Block::left_row_step());
            }
            for (column, &factor) in right.iter().enumerate() {
                self.position_behind(factor, first);
                let start = self.builder.byte_offset(memory, block.right_matrix_bytes(column));
                let address = self.builder.gep(factor[0].ty(), start, &[down]);
                self.store(factor, address, block.row_step());
            }
            self.builder.position_before(last);
            self.call(OUTER_STEP, void, &[memory, code]);
            earliest = Some(last);
        }
        let mut finished: Vec<(BasicBlock<'m>, Instruction<'m>)> = Vec::new();
        for (sum, row, column) in &sums {
            for exit in &sum.exits {
                let home = exit[0].block().expect("a phi is in a block");
                let known = finished.iter().find(|(block, _)| *block == home).map(|&(_, next)| next);
                let next = known.unwrap_or_else(|| {
                    let next = home.first_non_phi().expect("a block ends in an instruction");
                    self.builder.position_before(next);
                    self.call(OUTER_FINISH, void, &[memory, code]);
                    finished.push((home, next));
                    next
                });
                self.builder.position_before(next);
                let address = self.builder.byte_offset(memory, block.sum_offset_bytes(*row, *column));
                let matrix_ty = context.structure(&[context.float(), context.float()], false);
                let arguments = [address, self.number(block.row_step() as u64), self.number(1)];
                let matrix = self.call(&format!("{OUTER_LOAD}float"), matrix_ty, &arguments).as_value();
                for (element, &phi) in (0..).zip(exit) {
                    let value = self.builder.extract_value(matrix, element);
                    phi.as_value().replace_all_uses_with(value);
                    self.module.erase(phi);
                }
            }
        }
        for (sum, ..) in &sums {
            self.remove(sum);
        }
    }

    /// Takes the products and phis out, which nothing else asks for any more.
    fn remove(&self, sum: &Sum<'m>) {
        let drop = |instruction: Instruction<'m>| {
            let value = instruction.as_value();
            if !value.is_unused() {
                value.replace_all_uses_with(value.ty().poison());
            }
            self.module.erase(instruction);
        };
        sum.phis.into_iter().for_each(drop);
        for &product in &sum.products {
            elements(product).into_iter().flatten().for_each(drop);
            self.module.erase(product);
        }
    }
}

/// What a loop does with matrices.
#[derive(Clone, Copy, Default)]
struct Uses {
    reads: bool,
    writes: bool,
    multiplies: bool,
}

impl Uses {
    fn of(block: BasicBlock<'_>) -> Self {
        let mut uses = Self::default();
        for call in block.instructions().into_iter().filter(|it| it.opcode().is(PlainOp::Call)) {
            let Some(name) = call.called_function().map(|callee| callee.name()) else { continue };
            uses.reads |= name.starts_with(MATRIX_LOAD);
            uses.writes |= name.starts_with(MATRIX_STORE);
            uses.multiplies |= is_product(call);
        }
        uses
    }

    fn with(self, other: Self) -> Self {
        Self {
            reads: self.reads || other.reads,
            writes: self.writes || other.writes,
            multiplies: self.multiplies || other.multiplies,
        }
    }
}

/// The branches that close loops over arrays of matrices, which are to be unrolled so that sums are values: all loops with matrices
/// but the outermost ones that both read and multiply them, which are those that add to sums.
pub(crate) fn unrolled_latches(source: Function<'_>) -> Vec<Instruction<'_>> {
    let loops = listed_loops(source);
    let uses = |blocks: &[BasicBlock<'_>]| blocks.iter().fold(Uses::default(), |uses, &it| uses.with(Uses::of(it)));
    let used: Vec<Uses> = loops.iter().map(|blocks| uses(blocks)).collect();
    let adds = |number: usize| used[number].reads && used[number].multiplies;
    let is_inside = |inner: usize, outer: usize| {
        inner != outer && loops[outer].len() > loops[inner].len() && loops[outer].contains(&loops[inner][0])
    };
    let numbers = 0..loops.len();
    let is_wanted = |&number: &usize| {
        let about_matrices = used[number].reads || used[number].writes || used[number].multiplies;
        about_matrices && (!adds(number) || numbers.clone().any(|outer| adds(outer) && is_inside(number, outer)))
    };
    let latches = numbers.clone().filter(is_wanted).filter_map(|number| loops[number].last()?.terminator());
    latches.collect()
}

/// Whether `module` calls a function of AIR that multiplies matrices.
pub(crate) fn has_products(module: &Module<'_>) -> bool {
    let is_it = |function: &Function<'_>| function.name().starts_with(PRODUCT_PREFIX);
    module.functions().iter().any(|function| is_it(function) && !function.as_value().is_unused())
}
