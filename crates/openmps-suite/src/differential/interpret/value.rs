//! Values of expressions for all threads of a threadgroup, and functions over lanes.

use openmps_air::element::low_bits;
use openmps_air::intrinsics::{Reference, lanes, lookup};

use super::super::program::{
    ARRAY_ELEMENTS, Expr, LaneCall, LaneFunction, POINTED_ELEMENTS, SHARED_COUNTERS, Space, Ty,
};
use super::super::scalar::{BinaryOp, UnaryOp, binary, convert, fma, unary};
use super::{CounterUse, Invalid, Mask, Threadgroup, active, both, except, index, load_mask};

/// One value a thread and component.
pub(super) struct Value {
    pub(super) ty: Ty,
    pub(super) columns: Vec<Vec<u64>>,
}

impl Value {
    pub(super) fn scalar(self) -> Vec<u64> {
        self.columns.into_iter().next().expect("a value has a component")
    }
}

impl Threadgroup<'_> {
    pub(super) fn lanes(&mut self, call: &LaneCall, mask: &Mask) -> Result<Vec<Vec<u64>>, Invalid> {
        let value = self.value(&call.value, mask)?;
        // A reduction looks at every lane for every lane.
        self.step(32 * value.columns.len() as u64)?;
        let operand = self.value(&call.operand, mask)?.scalar();
        let fill = match &call.fill {
            Some((fill, _)) => Some(self.value(fill, mask)?.columns),
            None => None,
        };
        let scope = if call.is_quad { "quad" } else { "simd" };
        let width = if call.is_quad { lanes::QUAD_WIDTH } else { lanes::SIMD_WIDTH };
        let suffix = match call.function {
            LaneFunction::All | LaneFunction::Any | LaneFunction::IsFirst => String::new(),
            LaneFunction::Ballot | LaneFunction::ActiveThreadsMask => ".i64".to_owned(),
            _ => value.ty.scalar.suffix(true),
        };
        let name = format!("air.{scope}_{}{suffix}", call.function.name());
        let row = lookup(&name).unwrap_or_else(|| panic!("{name} is not in the table")).row;
        let Reference::Lanes(reference) = row.reference else { unreachable!("{name} is a function over lanes") };
        let mut columns = vec![vec![0; self.threads]; value.columns.len()];
        for (component, column) in columns.iter_mut().enumerate() {
            for first in (0..self.threads).step_by(32) {
                let count = (self.threads - first).min(32);
                let (mut values, mut fills, mut active) = ([0; 32], [0; 32], 0_u32);
                values[..count].copy_from_slice(&value.columns[component][first..first + count]);
                if let Some(fill) = &fill {
                    fills[..count].copy_from_slice(&fill[component][first..first + count]);
                }
                (0..count).filter(|lane| mask[first + lane]).for_each(|lane| active |= 1 << lane);
                for lane in (0..32).filter(|lane| active >> lane & 1 == 1) {
                    let thread = first + lane as usize;
                    let operand = u32::try_from(operand[thread] & 0xffff_ffff).expect("32 bits") % width;
                    let modulo = call.fill.as_ref().map_or(width, |(_, modulo)| *modulo);
                    let of_lane = lanes::LaneCall { values: &values, fill: &fills, active, lane, operand, modulo };
                    column[thread] = reference(&of_lane);
                }
            }
        }
        Ok(columns)
    }

    pub(super) fn value(&mut self, expr: &Expr, mask: &Mask) -> Result<Value, Invalid> {
        self.step(1)?;
        let ty = self.kernel.ty(expr);
        let one = |column: Vec<u64>| Ok(Value { ty, columns: vec![column] });
        match expr {
            Expr::Const(ty, bits) => Ok(Value { ty: *ty, columns: vec![vec![*bits; self.threads]; ty.lanes] }),
            Expr::Var(variable) => Ok(Value { ty, columns: self.variables[*variable].clone() }),
            Expr::Builtin(builtin) => one(self.built_in(*builtin)),
            Expr::Param(word) => one(vec![self.inputs.parameters[*word]; self.threads]),
            Expr::Load { buffer, lanes, index: at, masked } => {
                let at = self.value(at, mask)?.scalar();
                self.load(*buffer, *lanes, &at, *masked, mask)
            }
            Expr::ThroughPointer { pointer, index: at } => {
                let at = self.value(at, mask)?.scalar();
                let mut column = vec![0; self.threads];
                for thread in active(mask) {
                    let (buffer, offset) = self.pointers[*pointer][thread];
                    column[thread] = match self.kernel.pointers[*pointer].space {
                        Space::Input => {
                            let at = offset + index(at[thread] & 1023);
                            self.inputs.arrays[buffer].checked(at).ok_or(Invalid::OutOfBounds)?
                        }
                        Space::Output => self.results.outputs[buffer].get(offset),
                        Space::Private => self.arrays[buffer][offset + index(at[thread]) % POINTED_ELEMENTS][thread],
                        Space::Shared => {
                            self.shared_access[offset].read(thread)?;
                            self.shared[offset]
                        }
                    };
                }
                one(column)
            }
            Expr::Element { array, index: at } => {
                let at = self.value(at, mask)?.scalar();
                let element = |(thread, at): (usize, u64)| self.arrays[*array][index(at) % ARRAY_ELEMENTS][thread];
                one(at.into_iter().enumerate().map(element).collect())
            }
            Expr::Own { output, slot } => {
                let slot = self.value(slot, mask)?.scalar();
                let place = |thread: usize| self.own_place(*output, self.linear[thread], slot[thread]);
                one((0..self.threads).map(|thread| self.results.outputs[*output].get(place(thread))).collect())
            }
            Expr::OwnShared => {
                let own: Vec<usize> = (0..self.threads).map(|thread| self.own_element(thread)).collect();
                one(self.read_shared(&own, mask)?)
            }
            Expr::Shared(at) => {
                let at = self.value(at, mask)?.scalar();
                let elements: Vec<usize> = at.into_iter().map(|at| index(at) % self.threads).collect();
                one(self.read_shared(&elements, mask)?)
            }
            Expr::Counter(at) => {
                let at = self.value(at, mask)?.scalar();
                if mask.contains(&true) {
                    if self.counter_use == CounterUse::Added {
                        return Err(Invalid::Race);
                    }
                    self.counter_use = CounterUse::Read;
                }
                one(at.into_iter().map(|at| self.counters[index(at) % SHARED_COUNTERS % self.threads]).collect())
            }
            Expr::Unary(..) | Expr::Binary(..) | Expr::Plain(..) | Expr::Fma(..) | Expr::Select(..) => {
                self.operation(expr, ty, mask)
            }
            Expr::Convert(..) | Expr::Bits(..) | Expr::Vector(_) | Expr::Lane(..) => self.reshaped(expr, ty, mask),
        }
    }

    fn load(&self, buffer: usize, lanes: usize, at: &[u64], masked: bool, mask: &Mask) -> Result<Value, Invalid> {
        let input = &self.inputs.arrays[buffer];
        let ty = Ty { scalar: self.kernel.inputs[buffer], lanes };
        let mut columns = vec![vec![0; self.threads]; lanes];
        for thread in active(mask) {
            let first = if masked { at[thread] & load_mask(lanes) } else { at[thread] };
            for (lane, column) in columns.iter_mut().enumerate() {
                let place = index(first) * lanes + lane;
                column[thread] = input.checked(place).ok_or(Invalid::OutOfBounds)?;
            }
        }
        Ok(Value { ty, columns })
    }

    fn read_shared(&mut self, elements: &[usize], mask: &Mask) -> Result<Vec<u64>, Invalid> {
        for thread in active(mask) {
            self.shared_access[elements[thread]].read(thread)?;
        }
        Ok(elements.iter().map(|element| self.shared[*element]).collect())
    }

    fn operation(&mut self, expr: &Expr, ty: Ty, mask: &Mask) -> Result<Value, Invalid> {
        match expr {
            Expr::Unary(op, a) => {
                let a = self.value(a, mask)?;
                let fold = |all: bool| {
                    let lanes = |thread: usize| a.columns.iter().map(move |column| column[thread] == 1);
                    let bit = |thread| {
                        u64::from(if all { lanes(thread).all(|bit| bit) } else { lanes(thread).any(|bit| bit) })
                    };
                    Value { ty, columns: vec![(0..self.threads).map(bit).collect()] }
                };
                match op {
                    UnaryOp::All => Ok(fold(true)),
                    UnaryOp::Any => Ok(fold(false)),
                    UnaryOp::Neg | UnaryOp::Not | UnaryOp::Function(..) => Ok(map(ty, a, &unary(*op, ty.scalar))),
                }
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.value(a, mask)?, self.value(b, mask)?);
                let function = binary(*op, a.ty.scalar);
                Ok(Value { ty, columns: zip(&a.columns, &b.columns, function) })
            }
            Expr::Plain(op, a, b) => {
                let (a, b) = (self.value(a, mask)?.scalar(), self.value(b, mask)?.scalar());
                let most = if ty.scalar.is_signed() { i128::from(i32::MAX) } else { i128::from(u32::MAX) };
                for thread in active(mask) {
                    let (a, b) = (i128::from(a[thread]), i128::from(b[thread]));
                    let exact = match op {
                        BinaryOp::Sub => a - b,
                        BinaryOp::Mul => a * b,
                        _ => a + b,
                    };
                    if !(0..=most).contains(&exact) {
                        return Err(Invalid::Overflow);
                    }
                }
                Ok(Value { ty, columns: zip(&[a], &[b], binary(*op, ty.scalar)) })
            }
            Expr::Fma(a, b, c) => {
                let [a, b, c] = [self.value(a, mask)?, self.value(b, mask)?, self.value(c, mask)?];
                let column = |((a, b), c): ((&Vec<u64>, &Vec<u64>), &Vec<u64>)| {
                    a.iter().zip(b).zip(c).map(|((a, b), c)| fma(*a, *b, *c)).collect()
                };
                Ok(Value { ty, columns: a.columns.iter().zip(&b.columns).zip(&c.columns).map(column).collect() })
            }
            Expr::Select(condition, a, b) => {
                let condition = self.value(condition, mask)?;
                let (a, b) = if condition.ty.lanes == 1 {
                    // Only one arm is evaluated: it matters where the arms read threadgroup memory.
                    let bits: Vec<bool> = condition.columns[0].iter().map(|bit| *bit == 1).collect();
                    (self.value(a, &both(mask, &bits))?, self.value(b, &except(mask, &bits))?)
                } else {
                    (self.value(a, mask)?, self.value(b, mask)?)
                };
                let column = |lane: usize| {
                    let condition = &condition.columns[if condition.ty.lanes == 1 { 0 } else { lane }];
                    let arms = a.columns[lane].iter().zip(&b.columns[lane]);
                    condition.iter().zip(arms).map(|(bit, (a, b))| if *bit == 1 { *a } else { *b }).collect()
                };
                Ok(Value { ty, columns: (0..ty.lanes).map(column).collect() })
            }
            _ => unreachable!("{expr:?} is no operation"),
        }
    }

    fn reshaped(&mut self, expr: &Expr, ty: Ty, mask: &Mask) -> Result<Value, Invalid> {
        match expr {
            Expr::Convert(_, a) => {
                let a = self.value(a, mask)?;
                let function = convert(a.ty.scalar, ty.scalar);
                Ok(map(ty, a, &function))
            }
            Expr::Bits(_, a) => {
                let a = self.value(a, mask)?;
                let width = a.ty.scalar.bits();
                let whole = |thread: usize| {
                    let parts = a.columns.iter().enumerate();
                    parts.fold(0, |bits, (lane, column)| {
                        bits | column[thread] << (width * u32::try_from(lane).expect("at most 4 lanes"))
                    })
                };
                let whole: Vec<u64> = (0..self.threads).map(whole).collect();
                let part = |lane: usize| {
                    let shift = ty.scalar.bits() * u32::try_from(lane).expect("at most 4 lanes");
                    whole.iter().map(|bits| low_bits(bits >> shift, ty.scalar.bits())).collect()
                };
                Ok(Value { ty, columns: (0..ty.lanes).map(part).collect() })
            }
            Expr::Vector(parts) => {
                let mut columns = Vec::new();
                for part in parts {
                    columns.push(self.value(part, mask)?.scalar());
                }
                Ok(Value { ty, columns })
            }
            Expr::Lane(vector, lane) => {
                let (vector, lane) = (self.value(vector, mask)?, self.value(lane, mask)?.scalar());
                let lanes = vector.ty.lanes as u64;
                let pick = |thread: usize| vector.columns[index(lane[thread] % lanes)][thread];
                Ok(Value { ty, columns: vec![(0..self.threads).map(pick).collect()] })
            }
            _ => unreachable!("{expr:?} does not change shape"),
        }
    }
}

fn map(ty: Ty, mut value: Value, function: &dyn Fn(u64) -> u64) -> Value {
    value.columns.iter_mut().flatten().for_each(|bits| *bits = function(*bits));
    Value { ty, columns: value.columns }
}

fn zip(a: &[Vec<u64>], b: &[Vec<u64>], function: Box<dyn Fn(u64, u64) -> u64>) -> Vec<Vec<u64>> {
    let column = |(a, b): (&Vec<u64>, &Vec<u64>)| a.iter().zip(b).map(|(a, b)| function(*a, *b)).collect();
    a.iter().zip(b).map(column).collect()
}
