//! Operations over the lanes of a SIMD-group or quad, in registers. The meaning is that of [`crate::lanes`], the order of float sums
//! included.

use openmps_llvm::{Instruction, IntPredicate, Type, Value};

use super::super::marker::Marker;
use super::super::refusal::Refusal;
use super::{Emitter, WIDTH};
use crate::lanes::{Element, Fold, LaneOperation as Op};

fn is_signed(element: Element) -> bool {
    match element {
        Element::I8 | Element::I16 | Element::I32 | Element::I64 => true,
        Element::F32
        | Element::F16
        | Element::Bf16
        | Element::I1
        | Element::U8
        | Element::U16
        | Element::U32
        | Element::U64 => false,
    }
}

fn is_float(element: Element) -> bool {
    matches!(element, Element::F32 | Element::F16 | Element::Bf16)
}

impl<'m> Emitter<'_, 'm> {
    pub(super) fn lane_operation(&mut self, call: Instruction<'m>, marker: Marker) -> Result<(), Refusal> {
        match marker.operation {
            Op::Barrier => Ok(()),
            Op::Sum => self.reduce(call, marker, Fold::Sum),
            Op::Product => self.reduce(call, marker, Fold::Product),
            Op::Min => self.reduce(call, marker, Fold::Min),
            Op::Max => self.reduce(call, marker, Fold::Max),
            Op::And => self.reduce(call, marker, Fold::And),
            Op::Or => self.reduce(call, marker, Fold::Or),
            Op::Xor => self.reduce(call, marker, Fold::Xor),
            Op::PrefixInclusiveSum => self.scan(call, marker, Fold::Sum, true),
            Op::PrefixExclusiveSum => self.scan(call, marker, Fold::Sum, false),
            Op::PrefixInclusiveProduct => self.scan(call, marker, Fold::Product, true),
            Op::PrefixExclusiveProduct => self.scan(call, marker, Fold::Product, false),
            Op::All | Op::Any | Op::Ballot | Op::ActiveThreadsMask => self.ballot(call, marker),
            Op::VoteAll | Op::VoteAny => self.vote(call, marker),
            Op::IsFirst => {
                let first = self.first_lanes(marker.width);
                let result = self.builder.icmp(IntPredicate::Eq, self.lane_numbers(), first);
                self.set_truth(call, result);
                Ok(())
            }
            Op::BroadcastFirst => {
                let data = self.vector(call.arguments()[0])?;
                let first = self.first_lanes(marker.width);
                let result = if marker.width == WIDTH {
                    let first = self.builder.extract_lane(first, 0);
                    let value = self.builder.extract_element(data, first);
                    self.set_shared(call.as_value(), value);
                    return Ok(());
                } else {
                    self.permute(data, first)
                };
                self.set_vector(call.as_value(), result);
                Ok(())
            }
            Op::Broadcast
            | Op::Shuffle
            | Op::ShuffleUp
            | Op::ShuffleDown
            | Op::ShuffleXor
            | Op::ShuffleRotateUp
            | Op::ShuffleRotateDown => self.shuffle_lanes(call, marker),
            Op::ShuffleAndFillUp | Op::ShuffleAndFillDown => self.fill_shuffle(call, marker),
            Op::MatrixMultiplyAccumulate => self.matrix_product(call),
            Op::Copy => Err(Refusal::NeedsFibers),
        }
    }

    fn lane_numbers(&self) -> Value<'m> {
        self.constant_lanes(self.context().i32(), |lane| lane)
    }

    /// The first active lane of each lane's group.
    fn first_lanes(&self, width: u32) -> Value<'m> {
        let (b, no_poison) = (&self.builder, self.context().i1().zero());
        let bits = self.bits(self.active());
        if width == WIDTH {
            let first = b.intrinsic("llvm.cttz", &[bits.ty()], &[bits, no_poison]).as_value();
            // Without lanes nobody asks, but the index stays in range.
            let first = b.and(first, bits.ty().const_int(u64::from(WIDTH - 1)));
            return self.splat(first);
        }
        let bases = self.constant_lanes(self.context().i32(), |lane| lane - lane % i64::from(width));
        let own = self.group_bits(bits, width);
        let full = self.splat_int(self.context().i32(), 1 << (width - 1));
        let own = b.or(own, full);
        let first = b.intrinsic("llvm.cttz", &[own.ty()], &[own, no_poison]).as_value();
        b.add(bases, first)
    }

    /// The bits of each lane's group, shifted down.
    fn group_bits(&self, bits: Value<'m>, width: u32) -> Value<'m> {
        let bases = self.constant_lanes(self.context().i32(), |lane| lane - lane % i64::from(width));
        let own = self.builder.lshr(self.splat(bits), bases);
        self.builder.and(own, self.splat_int(self.context().i32(), (1 << width) - 1))
    }

    /// The type in which an element is computed.
    fn computed(&self, data: Value<'m>, element: Element) -> Value<'m> {
        let float = self.context().vector(self.context().float(), WIDTH);
        match element {
            Element::F16 => self.builder.fp_ext(data, float),
            Element::Bf16 => self.extend_bfloat(data),
            _ => data,
        }
    }

    /// Back from the computed type, of one lane or of all.
    fn stored(&self, result: Value<'m>, element: Element) -> Value<'m> {
        let is_vector = result.ty().lanes() > 1;
        match element {
            Element::F16 => {
                let half = self.context().half();
                let ty = if is_vector { self.context().vector(half, WIDTH) } else { half };
                self.builder.fp_trunc(result, ty)
            }
            Element::Bf16 if is_vector => self.round_to_bfloat(result),
            Element::Bf16 => {
                let rounded = self.round_to_bfloat(self.splat(result));
                self.builder.extract_lane(rounded, 0)
            }
            _ => result,
        }
    }

    /// What changes nothing in a fold.
    fn neutral(&self, fold: Fold, ty: Type<'m>, element: Element) -> Value<'m> {
        if is_float(element) {
            return ty.const_float(match fold {
                Fold::Sum => -0.0,
                Fold::Product => 1.0,
                // Minimum and maximum ignore NaN.
                Fold::Min | Fold::Max => f64::NAN,
                Fold::And | Fold::Or | Fold::Xor => 0.0,
            });
        }
        let max = u64::MAX >> (64 - ty.int_bits().unwrap_or(64));
        let signed = is_signed(element);
        ty.const_int(match fold {
            Fold::Sum | Fold::Or | Fold::Xor => 0,
            Fold::Product => 1,
            Fold::And => max,
            Fold::Min if signed => max / 2,
            Fold::Max if signed => max / 2 + 1,
            Fold::Min => max,
            Fold::Max => 0,
        })
    }

    fn combine(&self, fold: Fold, a: Value<'m>, b: Value<'m>, element: Element) -> Value<'m> {
        let build = &self.builder;
        let call = |name: &str| build.intrinsic(name, &[a.ty()], &[a, b]).as_value();
        let (float, signed) = (is_float(element), is_signed(element));
        match fold {
            Fold::Sum if float => build.fadd(a, b),
            Fold::Sum => build.add(a, b),
            Fold::Product if float => build.fmul(a, b),
            Fold::Product => build.mul(a, b),
            Fold::Min if float => call("llvm.minnum"),
            Fold::Max if float => call("llvm.maxnum"),
            Fold::Min if signed => call("llvm.smin"),
            Fold::Max if signed => call("llvm.smax"),
            Fold::Min => call("llvm.umin"),
            Fold::Max => call("llvm.umax"),
            // Bitwise folds exist for integers alone.
            Fold::And | Fold::Or | Fold::Xor if float => a,
            Fold::And => build.and(a, b),
            Fold::Or => build.or(a, b),
            Fold::Xor => build.xor(a, b),
        }
    }

    /// The lanes' values as they are computed, with neutral ones on lanes that do not take part.
    fn folded(&mut self, call: Instruction<'m>, fold: Fold, element: Element) -> Result<Value<'m>, Refusal> {
        let data = self.vector(call.arguments()[0])?;
        let data = self.computed(data, element);
        let Some(mask) = self.mask else { return Ok(data) };
        let neutral = self.splat(self.neutral(fold, data.ty().scalar(), element));
        Ok(self.builder.select(mask, data, neutral))
    }

    fn reduce(&mut self, call: Instruction<'m>, marker: Marker, fold: Fold) -> Result<(), Refusal> {
        let element = marker.element;
        let mut data = self.folded(call, fold, element)?;
        if marker.width != WIDTH {
            for distance in [1, 2] {
                let others = self.exchanged(data, distance);
                data = self.combine(fold, data, others, element);
            }
            let result = self.stored(data, element);
            self.set_vector(call.as_value(), result);
            return Ok(());
        }
        let total = self.total(fold, data, element)?;
        let result = self.stored(total, element);
        self.set_shared(call.as_value(), result);
        Ok(())
    }

    fn exchanged(&self, data: Value<'m>, distance: u32) -> Value<'m> {
        let sources: Vec<Option<u32>> = (0..WIDTH).map(|lane| Some(lane ^ distance)).collect();
        self.builder.shuffle(data, data.ty().poison(), &sources)
    }

    fn total(&self, fold: Fold, data: Value<'m>, element: Element) -> Result<Value<'m>, Refusal> {
        let (float, signed) = (is_float(element), is_signed(element));
        let name = match fold {
            Fold::And | Fold::Or | Fold::Xor if float => return Err(Refusal::Instruction),
            Fold::Sum => "llvm.vector.reduce.add",
            Fold::Product => "llvm.vector.reduce.mul",
            Fold::Min if signed => "llvm.vector.reduce.smin",
            Fold::Max if signed => "llvm.vector.reduce.smax",
            Fold::Min => "llvm.vector.reduce.umin",
            Fold::Max => "llvm.vector.reduce.umax",
            Fold::And => "llvm.vector.reduce.and",
            Fold::Or => "llvm.vector.reduce.or",
            Fold::Xor => "llvm.vector.reduce.xor",
        };
        if float {
            return Ok(self.halved(fold, data, element));
        }
        Ok(self.builder.intrinsic(name, &[data.ty()], &[data]).as_value())
    }

    /// The upper half with the lower one until one value is left: LLVM's reductions may choose another order.
    fn halved(&self, fold: Fold, data: Value<'m>, element: Element) -> Value<'m> {
        let mut data = data;
        let mut width = WIDTH / 2;
        while width > 0 {
            let half = |first: u32| {
                let sources: Vec<Option<u32>> = (first..first + width).map(Some).collect();
                self.builder.shuffle(data, data.ty().poison(), &sources)
            };
            data = self.combine(fold, half(0), half(width), element);
            width /= 2;
        }
        self.builder.extract_lane(data, 0)
    }

    /// Prefixes by doubling distances.
    fn scan(&mut self, call: Instruction<'m>, marker: Marker, fold: Fold, inclusive: bool) -> Result<(), Refusal> {
        let element = marker.element;
        let mut data = self.folded(call, fold, element)?;
        let ty = data.ty().scalar();
        // Where nothing comes before: the scalar engine starts at these too.
        let start = match (fold, is_float(element)) {
            (Fold::Sum, true) => ty.const_float(0.0),
            _ => self.neutral(fold, ty, element),
        };
        let start = self.splat(start);
        let mut distance = 1;
        while distance < marker.width {
            let before = self.shifted(data, start, distance, marker.width);
            data = self.combine(fold, before, data, element);
            distance *= 2;
        }
        if !inclusive {
            data = self.shifted(data, start, 1, marker.width);
        }
        let result = self.stored(data, element);
        self.set_vector(call.as_value(), result);
        Ok(())
    }

    /// Values of lanes `distance` below within a group of `width`, and `start` where there is none.
    fn shifted(&self, data: Value<'m>, start: Value<'m>, distance: u32, width: u32) -> Value<'m> {
        let source = |lane: u32| if lane % width >= distance { lane - distance } else { WIDTH + lane };
        let sources: Vec<Option<u32>> = (0..WIDTH).map(|lane| Some(source(lane))).collect();
        self.builder.shuffle(data, start, &sources)
    }

    /// `all`, `any`, the ballot and the mask of active lanes.
    fn ballot(&mut self, call: Instruction<'m>, marker: Marker) -> Result<(), Refusal> {
        let present = self.bits(self.active());
        let bits = match (marker.operation, call.arguments().first()) {
            (Op::ActiveThreadsMask, _) | (_, None) => present,
            (_, Some(&argument)) => {
                let data = self.vector(argument)?;
                let data = self.builder.and(self.as_truth(data), self.active());
                self.bits(data)
            }
        };
        let (bits, present) = if marker.width == WIDTH {
            (bits, present)
        } else {
            (self.group_bits(bits, marker.width), self.group_bits(present, marker.width))
        };
        match marker.operation {
            Op::All => {
                let result = self.builder.icmp(IntPredicate::Eq, bits, present);
                self.set_truth(call, result);
            }
            Op::Any => {
                let result = self.builder.icmp(IntPredicate::Ne, bits, bits.ty().zero());
                self.set_truth(call, result);
            }
            _ => {
                let ty = self.like(bits, call.ty());
                let result = self.builder.zext_or_trunc(bits, ty);
                self.set_either(call, result);
            }
        }
        Ok(())
    }

    /// Of a vote that a lane holds as bits.
    fn vote(&mut self, call: Instruction<'m>, marker: Marker) -> Result<(), Refusal> {
        let argument = call.arguments()[0];
        let is_shared = self.analysis.shape(argument).is_uniform() && marker.width == WIDTH;
        let data = if is_shared { self.scalar(argument) } else { self.vector(argument)? };
        let present = self.bits(self.active());
        let present = match (is_shared, marker.width == WIDTH) {
            (true, _) => present,
            (false, true) => self.splat(present),
            (false, false) => self.group_bits(present, marker.width),
        };
        let present = self.builder.zext_or_trunc(present, data.ty());
        let found = self.builder.and(data, present);
        let result = if marker.operation == Op::VoteAll {
            self.builder.icmp(IntPredicate::Eq, found, present)
        } else {
            self.builder.icmp(IntPredicate::Ne, found, found.ty().zero())
        };
        self.set_truth(call, result);
        Ok(())
    }

    /// The lowest bit of each lane.
    fn as_truth(&self, data: Value<'m>) -> Value<'m> {
        if data.ty().scalar().int_bits() == Some(1) { data } else { self.builder.trunc(data, self.mask_ty()) }
    }

    /// `ty`, or a vector of it where `value` is one.
    fn like(&self, value: Value<'m>, ty: Type<'m>) -> Type<'m> {
        if value.ty().lanes() == 1 { ty } else { self.context().vector(ty, WIDTH) }
    }

    fn set_truth(&mut self, call: Instruction<'m>, truth: Value<'m>) {
        let ty = self.like(truth, call.ty());
        let result = self.builder.zext_or_trunc(truth, ty);
        self.set_either(call, result);
    }

    /// A result that is one value or one for each lane.
    fn set_either(&mut self, call: Instruction<'m>, result: Value<'m>) {
        if result.ty().lanes() == 1 {
            self.set_shared(call.as_value(), result);
        } else {
            self.set_vector(call.as_value(), result);
        }
    }

    fn shuffle_lanes(&mut self, call: Instruction<'m>, marker: Marker) -> Result<(), Refusal> {
        let arguments = call.arguments();
        let data = self.vector(arguments[0])?;
        let operand = *arguments.get(1).ok_or(Refusal::Instruction)?;
        if self.analysis.shape(call.as_value()).is_uniform() {
            let lane = self.scalar(operand);
            let lane = self.builder.and(lane, lane.ty().const_int(u64::from(WIDTH - 1)));
            let mut value = self.builder.extract_element(data, lane);
            if let Some(mask) = self.mask {
                let is_there = self.builder.extract_element(mask, lane);
                value = self.builder.select(is_there, value, value.ty().zero());
            }
            self.set_scalar(call.as_value(), value);
            return Ok(());
        }
        if let Some(constant) = operand.as_const_int() {
            let sources = sources_of(marker, u32::try_from(constant & 0xffff_ffff).unwrap_or(0));
            let result = self.shuffle_static(data, &sources);
            self.set_vector(call.as_value(), result);
            return Ok(());
        }
        let operands = self.vector(operand)?;
        let indices = self.dynamic_sources(marker, operands);
        let result = self.shuffle_dynamic(data, indices);
        self.set_vector(call.as_value(), result);
        Ok(())
    }

    /// Lanes of `values` by number; zero where the named one does not take part.
    fn shuffle_static(&self, values: Value<'m>, sources: &[Option<u32>]) -> Value<'m> {
        let moved = self.builder.shuffle(values, values.ty().poison(), sources);
        let Some(mask) = self.mask else { return moved };
        let is_there = self.builder.shuffle(mask, mask.ty().poison(), sources);
        self.builder.select(is_there, moved, moved.ty().zero())
    }

    /// As [`shuffle_static`](Self::shuffle_static) with lanes that are known at run time.
    fn shuffle_dynamic(&self, values: Value<'m>, indices: Value<'m>) -> Value<'m> {
        let indices = self.builder.freeze(indices);
        let last = self.splat_int(self.context().i32(), u64::from(WIDTH - 1));
        let indices = self.builder.and(indices, last);
        let moved = self.permute(values, indices);
        let Some(mask) = self.mask else { return moved };
        let bits = self.builder.lshr(self.splat(self.bits(mask)), indices);
        let is_there = self.builder.trunc(bits, self.mask_ty());
        self.builder.select(is_there, moved, moved.ty().zero())
    }

    /// The lanes that `operands` name; the own one where there is no such lane in the group.
    fn dynamic_sources(&self, marker: Marker, operands: Value<'m>) -> Value<'m> {
        let (b, width) = (&self.builder, u64::from(marker.width));
        let i32_ty = self.context().i32();
        let lanes = self.lane_numbers();
        let last = self.splat_int(i32_ty, width - 1);
        let places = self.constant_lanes(i32_ty, |lane| lane % i64::from(marker.width));
        let bases = self.constant_lanes(i32_ty, |lane| lane - lane % i64::from(marker.width));
        let named = match marker.operation {
            Op::ShuffleUp => b.sub(places, operands),
            Op::ShuffleDown => b.add(places, operands),
            Op::ShuffleXor => b.xor(places, operands),
            Op::ShuffleRotateUp => b.and(b.sub(places, operands), last),
            Op::ShuffleRotateDown => b.and(b.add(places, operands), last),
            _ => operands,
        };
        let is_there = self.is_below(named, width);
        b.select(is_there, b.add(bases, named), lanes)
    }

    /// The second operand fills what the shift leaves empty.
    fn fill_shuffle(&mut self, call: Instruction<'m>, marker: Marker) -> Result<(), Refusal> {
        let arguments = call.arguments();
        let [data, fill, delta, modulo] = arguments[..] else { return Err(Refusal::Instruction) };
        let (data, fill) = (self.vector(data)?, self.vector(fill)?);
        let (deltas, modulos) = (self.vector(delta)?, self.vector(modulo)?);
        let i32_ty = self.context().i32();
        let (b, width) = (&self.builder, u64::from(marker.width));
        let call_two = |name: &str, a: Value<'m>, c: Value<'m>| b.intrinsic(name, &[a.ty()], &[a, c]).as_value();
        let modulos = call_two("llvm.umax", modulos, self.splat_int(i32_ty, 1));
        let modulos = call_two("llvm.umin", modulos, self.splat_int(i32_ty, width));
        let in_group = self.constant_lanes(i32_ty, |lane| lane % i64::from(marker.width));
        let places = self.remainder(in_group, modulos);
        let lanes = self.lane_numbers();
        let bases = b.sub(lanes, places);
        let (from_data, source) = if marker.operation == Op::ShuffleAndFillUp {
            let from_data = b.icmp(IntPredicate::Uge, places, deltas);
            let near = b.sub(places, deltas);
            (from_data, b.select(from_data, near, b.add(near, modulos)))
        } else {
            let sum = b.add(places, deltas);
            let from_data = b.icmp(IntPredicate::Ult, sum, modulos);
            (from_data, b.select(from_data, sum, b.sub(sum, modulos)))
        };
        let named = b.add(bases, source);
        // A delta so large that it goes beyond the group once more names no lane.
        let is_below = self.is_below(source, width);
        let is_there = b.and(is_below, self.is_below(named, u64::from(WIDTH)));
        let named = b.select(is_there, named, lanes);
        let from_values = self.shuffle_dynamic(data, named);
        let from_fill = self.shuffle_dynamic(fill, named);
        let result = self.builder.select(from_data, from_values, from_fill);
        self.set_vector(call.as_value(), result);
        Ok(())
    }

    /// Remainders of small numbers.
    fn remainder(&self, numbers: Value<'m>, divisors: Value<'m>) -> Value<'m> {
        let float = self.context().vector(self.context().float(), WIDTH);
        let b = &self.builder;
        let quotients = b.fdiv(b.ui_to_fp(numbers, float), b.ui_to_fp(divisors, float));
        let quotients = b.fp_to_ui(quotients, numbers.ty());
        b.sub(numbers, b.mul(quotients, divisors))
    }
}

/// The lane whose value each lane gets.
fn sources_of(marker: Marker, operand: u32) -> Vec<Option<u32>> {
    let width = marker.width;
    let source = |lane: u32| {
        let place = lane % width;
        let named = match marker.operation {
            Op::ShuffleUp => place.checked_sub(operand),
            Op::ShuffleDown => place.checked_add(operand),
            Op::ShuffleXor => Some(place ^ operand),
            Op::ShuffleRotateUp => Some((place + width - operand % width) % width),
            Op::ShuffleRotateDown => Some((place + operand % width) % width),
            _ => Some(operand),
        };
        named.filter(|&named| named < width).map_or(lane, |named| lane - place + named)
    };
    (0..WIDTH).map(|lane| Some(source(lane))).collect()
}
