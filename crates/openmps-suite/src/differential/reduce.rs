//! Makes a kernel that fails small.
//!
//! An edit is a number: the place, in a fixed order, of one simplification among all that a kernel has. A list of edits therefore
//! stands for a kernel that another process can make again from its seed, which is how a reduction survives crashes.

use super::program::{Case, Expr, Kernel, LaneCall, Stmt};
use super::scalar::constant;

/// Simplifications that a reduction tries at most.
const TRIES_MAX: usize = 3000;

/// The edits that keep kernel `number` of library `seed` failing, as `fails` says.
pub fn reduce(seed: u64, number: usize, mut fails: impl FnMut(&[usize]) -> bool) -> Vec<usize> {
    let mut edits: Vec<usize> = Vec::new();
    let mut kernel = super::check::kernel(seed, number);
    let (mut next, mut since_success, mut tries) = (0, 0, 0);
    while tries < TRIES_MAX {
        let Some(smaller) = simplified(&kernel, next) else {
            if since_success == 0 || since_success >= next {
                break;
            }
            (next, since_success) = (0, 0);
            continue;
        };
        tries += 1;
        edits.push(next);
        if smaller != kernel && fails(&edits) {
            kernel = smaller;
            since_success = 1;
        } else {
            edits.pop();
            next += 1;
            since_success += usize::from(since_success > 0);
        }
    }
    edits
}

/// `kernel` after `edits`; those that it has no place for are left out.
pub(super) fn edited(mut kernel: Kernel, edits: &[usize]) -> Kernel {
    for edit in edits {
        kernel = simplified(&kernel, *edit).unwrap_or(kernel);
    }
    kernel
}

/// The simplification `number` of `kernel`: statements first, then expressions.
fn simplified(kernel: &Kernel, number: usize) -> Option<Kernel> {
    let mut result = kernel.clone();
    let mut left = number;
    if shorten(&mut result.body, &mut left) || simplify_block(kernel, &mut result.body, &mut left) {
        return Some(result);
    }
    None
}

/// Counts down to the edit that is meant.
fn is_meant(left: &mut usize) -> bool {
    if *left == 0 {
        return true;
    }
    *left -= 1;
    false
}

/// Edits that remove statements, or what is around them.
fn shorten(body: &mut Vec<Stmt>, left: &mut usize) -> bool {
    let half = body.len() / 2;
    if half > 1 {
        for range in [half..body.len(), 0..half] {
            if is_meant(left) {
                body.drain(range);
                return true;
            }
        }
    }
    for at in 0..body.len() {
        if is_meant(left) {
            body.remove(at);
            return true;
        }
        if inner(&mut body[at]).is_empty() {
            continue;
        }
        let count = inner(&mut body[at]).len();
        for part in 0..count {
            // A function's body has variables of its own.
            let is_function = matches!(body[at], Stmt::Call { .. });
            if !is_function && is_meant(left) {
                let inside = std::mem::take(inner(&mut body[at])[part]);
                body.splice(at..=at, inside.into_iter().filter(|statement| !is_jump(statement)));
                return true;
            }
        }
        for part in inner(&mut body[at]) {
            if shorten(part, left) {
                return true;
            }
        }
    }
    false
}

/// `break` and `continue`, which need their loop.
fn is_jump(statement: &Stmt) -> bool {
    match statement {
        Stmt::Break | Stmt::Continue => true,
        Stmt::If { then, otherwise, .. } => then.iter().chain(otherwise).any(is_jump),
        Stmt::Switch { cases, .. } => cases.iter().flat_map(|case| &case.body).any(is_jump),
        _ => false,
    }
}

/// The bodies of a statement.
fn inner(statement: &mut Stmt) -> Vec<&mut Vec<Stmt>> {
    match statement {
        Stmt::If { then, otherwise, .. } => vec![then, otherwise],
        Stmt::For { body, .. } | Stmt::While { body, .. } => vec![body],
        Stmt::Entered { first, second, .. } => vec![first, second],
        Stmt::Call { function, .. } => vec![&mut function.body],
        Stmt::Switch { cases, .. } => cases.iter_mut().map(|Case { body, .. }| body).collect(),
        _ => Vec::new(),
    }
}

/// The expressions of a statement.
fn operands(statement: &mut Stmt) -> Vec<&mut Expr> {
    match statement {
        Stmt::Set(_, value) | Stmt::SetLane(_, _, value) | Stmt::StoreShared(value) | Stmt::Leave(value) => vec![value],
        Stmt::SetElement { index, value, .. } | Stmt::StoreThrough { index, value, .. } => vec![index, value],
        Stmt::Entered { selector, condition, .. } => vec![selector, condition],
        Stmt::Call { function, arguments, .. } => {
            let mut all = vec![&mut function.result];
            all.extend(arguments);
            all
        }
        Stmt::Store { slot, value, .. } | Stmt::Atomic { slot, value, .. } => vec![slot, value],
        Stmt::PointTo { offset, .. } => vec![offset],
        Stmt::PointElsewhere { condition, .. } | Stmt::If { condition, .. } | Stmt::While { condition, .. } => {
            vec![condition]
        }
        Stmt::Lanes { call: LaneCall { value, operand, fill, .. }, .. } => {
            let mut all = vec![value, operand];
            all.extend(fill.as_mut().map(|(fill, _)| fill));
            all
        }
        Stmt::For { count, .. } => vec![count],
        Stmt::Switch { selector, .. } => vec![selector],
        Stmt::Advance { .. } | Stmt::Barrier | Stmt::SimdgroupBarrier => Vec::new(),
        Stmt::Break | Stmt::Continue | Stmt::Return => Vec::new(),
    }
}

fn children(expr: &mut Expr) -> Vec<&mut Expr> {
    match expr {
        Expr::Const(..) | Expr::Var(_) | Expr::Builtin(_) | Expr::Param(_) | Expr::OwnShared => Vec::new(),
        Expr::Load { index: a, .. } | Expr::ThroughPointer { index: a, .. } | Expr::Element { index: a, .. } => vec![a],
        Expr::Own { slot: a, .. } | Expr::Shared(a) | Expr::Counter(a) | Expr::Unary(_, a) => vec![a],
        Expr::Convert(_, a) | Expr::Bits(_, a) => vec![a],
        Expr::Binary(_, a, b) | Expr::Plain(_, a, b) | Expr::Lane(a, b) => vec![a, b],
        Expr::Fma(a, b, c) | Expr::Select(a, b, c) => vec![a, b, c],
        Expr::Vector(parts) => parts.iter_mut().collect(),
    }
}

/// Edits that make expressions smaller.
fn simplify_block(kernel: &Kernel, body: &mut [Stmt], left: &mut usize) -> bool {
    for statement in body {
        for expr in operands(statement) {
            if simplify(kernel, expr, left) {
                return true;
            }
        }
        for part in inner(statement) {
            if simplify_block(kernel, part, left) {
                return true;
            }
        }
    }
    false
}

fn simplify(kernel: &Kernel, expr: &mut Expr, left: &mut usize) -> bool {
    let ty = kernel.ty(expr);
    if !matches!(expr, Expr::Const(..)) {
        for value in [0, 1] {
            if is_meant(left) {
                *expr = Expr::Const(ty, constant(ty.scalar, value));
                return true;
            }
        }
    }
    let count = children(expr).len();
    for part in 0..count {
        if kernel.ty(children(expr)[part]) == ty && is_meant(left) {
            *expr = children(expr)[part].clone();
            return true;
        }
    }
    children(expr).into_iter().any(|child| simplify(kernel, child, left))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differential::source;

    #[test]
    fn a_reduction_keeps_what_fails_and_little_else() {
        let is_rich = |seed: &u64| {
            let text = source(*seed, 0, &[]);
            text.contains("while (") && text.contains("mulhi(")
        };
        let seed = (0..1000).find(is_rich).expect("a kernel of many has both");
        let edits = reduce(seed, 0, |edits| source(seed, 0, edits).contains("mulhi("));
        let text = source(seed, 0, &edits);
        assert!(text.contains("mulhi(") && !text.contains("while ("), "{text}");
        let body = text.rsplit_once("int v5").expect("the variables").1;
        assert!(body.matches(';').count() < 15, "{text}");
    }
}
