//! What the small language means, on programs whose results are known.

use openmps_engine::Grid;

use super::super::memory::Memory;
use super::super::program::{
    AtomicOp, Builtin, Case, Counting, Expr, Function, Kernel, LaneCall, LaneFunction, Output, Pointer, SharedArray,
    Space, Stmt, Ty,
};
use super::super::scalar::{BinaryOp, Scalar, constant};
use super::{Invalid, run};
use crate::machine::Random;

const COUNTER: usize = 1;

/// A kernel with a `uint` variable 0, a counter, and an output of one `uint` a thread that gets the variable.
fn kernel(mut body: Vec<Stmt>) -> Kernel {
    body.push(Stmt::Store { output: 0, slot: number(0), value: Expr::Var(0) });
    Kernel {
        name: "kernel0".to_owned(),
        dimensions: 1,
        inputs: vec![Scalar::I32],
        outputs: vec![Output { scalar: Scalar::U32, slots: 1, is_slot_major: false }],
        variables: vec![Ty::U32, Ty::I32],
        function_variables: vec![],
        arrays: vec![],
        pointers: vec![],
        shared: Some(SharedArray { scalar: Scalar::U32, is_reversed: true }),
        body,
    }
}

fn number(value: i32) -> Expr {
    Expr::Const(Ty::U32, constant(Scalar::U32, value))
}

fn index() -> Expr {
    Expr::Builtin(Builtin::Index)
}

fn two(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    Expr::Binary(op, Box::new(a), Box::new(b))
}

fn is_below(limit: i32) -> Expr {
    two(BinaryOp::Lt, index(), number(limit))
}

fn add(value: Expr) -> Stmt {
    Stmt::Set(0, two(BinaryOp::Add, Expr::Var(0), value))
}

fn when(condition: Expr, then: Vec<Stmt>) -> Stmt {
    Stmt::If { condition, then, otherwise: vec![] }
}

fn turns(count: Expr, body: Vec<Stmt>) -> Stmt {
    Stmt::For { counter: COUNTER, counting: Counting::Up, count, modulo: 16, body }
}

fn active_lanes() -> Stmt {
    let call =
        LaneCall { function: LaneFunction::Sum, is_quad: false, value: number(1), operand: number(0), fill: None };
    Stmt::Lanes { target: 0, call }
}

/// The results of `body` on `threads` threads in threadgroups of 40.
fn results(body: Vec<Stmt>, threads: u32) -> Result<Vec<u64>, Invalid> {
    results_of(&kernel(body), threads)
}

fn results_of(kernel: &Kernel, threads: u32) -> Result<Vec<u64>, Invalid> {
    let mut memory = Memory::new(kernel, &mut Random::new(1));
    run(kernel, &Grid { threads: [threads, 1, 1], group: [40, 1, 1] }, &memory.inputs, &mut memory.results)?;
    Ok((0..threads as usize).map(|thread| memory.results.outputs[0].get(thread)).collect())
}

#[test]
fn breaks_end_a_loop_and_continues_a_turn() {
    let body = vec![turns(
        number(8),
        vec![
            when(
                two(BinaryOp::Eq, Expr::Convert(Ty::U32, Box::new(Expr::Var(COUNTER))), index()),
                vec![Stmt::Continue],
            ),
            when(two(BinaryOp::Lt, index(), Expr::Convert(Ty::U32, Box::new(Expr::Var(COUNTER)))), vec![Stmt::Break]),
            add(number(1)),
        ],
    )];
    // Thread i adds in the turns before i, skips turn i and leaves at turn i + 1.
    assert_eq!(results(body, 10), Ok(vec![0, 1, 2, 3, 4, 5, 6, 7, 8, 8]));
}

#[test]
fn threads_that_continue_wait_for_the_others() {
    let body = vec![turns(number(2), vec![when(is_below(3), vec![Stmt::Continue]), active_lanes()]), active_lanes()];
    assert_eq!(results(body, 5), Ok(vec![5; 5]));
    let body = vec![turns(number(2), vec![when(is_below(3), vec![Stmt::Continue]), active_lanes()])];
    assert_eq!(results(body, 5), Ok(vec![0, 0, 0, 2, 2]));
}

#[test]
fn those_that_returned_take_no_part() {
    let body = vec![when(is_below(3), vec![Stmt::Return]), active_lanes()];
    // What is stored behind is not reached; 7 is the pattern of an output that nobody wrote.
    assert_eq!(results(body, 5), Ok(vec![7, 7, 7, 2, 2]));
}

#[test]
fn lanes_count_in_simdgroups_of_each_threadgroup() {
    let counts = results(vec![active_lanes()], 50).expect("it has a meaning");
    assert_eq!(counts, [vec![32; 32], vec![8; 8], vec![10; 10]].concat());
}

#[test]
fn cases_fall_through() {
    let case = |value, falls_through| Case { body: vec![add(number(value))], falls_through };
    let body = vec![Stmt::Switch { selector: index(), cases: vec![case(1, true), case(10, false), case(100, false)] }];
    assert_eq!(results(body, 5), Ok(vec![11, 10, 100, 100, 11]));
}

#[test]
fn a_loop_can_be_entered_in_the_middle() {
    let body = |condition| {
        let (first, second) = (vec![add(number(10))], vec![add(number(1))]);
        vec![Stmt::Entered { selector: index(), condition, turns: 3, first, second }]
    };
    // Odd threads begin with the second body, and then take as many turns as the others.
    assert_eq!(results(body(is_below(9)), 4), Ok(vec![33, 34, 33, 34]));
    assert_eq!(results(body(is_below(2)), 4), Ok(vec![33, 34, 0, 1]));
}

#[test]
fn functions_return_early() {
    let mut kernel = kernel(vec![]);
    let (parameter, local) = (2, 3);
    kernel.variables.extend([Ty::U32, Ty::U32]);
    let body = vec![
        when(two(BinaryOp::Lt, Expr::Var(parameter), number(2)), vec![Stmt::Leave(number(77))]),
        turns(number(4), vec![Stmt::Set(local, two(BinaryOp::Add, Expr::Var(local), Expr::Var(parameter)))]),
    ];
    let function = Function { parameters: vec![parameter], locals: vec![local], body, result: Expr::Var(local) };
    let call = Stmt::Call { target: 0, function: Box::new(function), arguments: vec![index()] };
    // Twice: locals begin anew.
    kernel.body.splice(0..0, [call.clone(), call]);
    assert_eq!(results_of(&kernel, 4), Ok(vec![77, 77, 8, 12]));
}

#[test]
fn pointers_point_into_private_arrays_and_outputs() {
    let mut kernel = kernel(vec![]);
    kernel.arrays = vec![Scalar::U32; 2];
    let private = Pointer { scalar: Scalar::U32, space: Space::Private };
    kernel.pointers = vec![private, private, Pointer { scalar: Scalar::U32, space: Space::Output }];
    let to = |pointer, buffer, offset| Stmt::PointTo { pointer, buffer, offset: number(offset) };
    let store = |pointer, value| Stmt::StoreThrough { pointer, index: number(2), value };
    let element = |array| Expr::Element { array, index: Box::new(number(3)) };
    kernel.body.splice(
        0..0,
        [
            to(0, 0, 1),
            to(1, 1, 1),
            Stmt::PointElsewhere { pointer: 0, condition: is_below(1), other: 1 },
            store(0, number(5)),
            store(2, two(BinaryOp::Sub, element(0), element(1))),
            Stmt::Set(0, Expr::ThroughPointer { pointer: 2, index: Box::new(number(0)) }),
        ],
    );
    assert_eq!(results_of(&kernel, 2), Ok(vec![0xffff_fffb, 5]));
}

#[test]
fn races_and_missed_barriers_are_refused() {
    // Thread i has element 2 - i, so element 1 is thread 1's, element 2 thread 0's.
    let neighbour = || Expr::Shared(Box::new(two(BinaryOp::Add, index(), number(1))));
    let exchange =
        |barrier: Vec<Stmt>| [vec![Stmt::StoreShared(index())], barrier, vec![Stmt::Set(0, neighbour())]].concat();
    assert_eq!(results(exchange(vec![]), 3), Err(Invalid::Race));
    assert_eq!(results(exchange(vec![Stmt::Barrier]), 3), Ok(vec![1, 0, 2]));
    let missed = vec![when(is_below(2), vec![Stmt::Barrier])];
    assert_eq!(results(missed.clone(), 3), Err(Invalid::DivergentBarrier));
    assert_eq!(results(missed, 2), Ok(vec![0, 0]));
    let counted = |barrier: Vec<Stmt>| {
        let add = Stmt::Atomic { op: AtomicOp::AddShared, slot: number(1), value: number(5) };
        [vec![add], barrier, vec![Stmt::Set(0, Expr::Counter(Box::new(number(1))))]].concat()
    };
    assert_eq!(results(counted(vec![]), 3), Err(Invalid::Race));
    assert_eq!(results(counted(vec![Stmt::Barrier]), 3), Ok(vec![15; 3]));
}

#[test]
fn indices_and_promises_are_checked() {
    let load = |at| Expr::Load { buffer: 0, lanes: 1, index: Box::new(number(at)), masked: false };
    let read = |at| vec![Stmt::Set(0, Expr::Convert(Ty::U32, Box::new(load(at))))];
    assert!(results(read(6143), 1).is_ok());
    assert_eq!(results(read(6144), 1), Err(Invalid::OutOfBounds));
    // Not by threads that take no part.
    assert!(results(vec![when(is_below(0), read(9999))], 3).is_ok());
    let below_zero = Expr::Plain(BinaryOp::Sub, Box::new(number(1)), Box::new(number(2)));
    assert_eq!(results(vec![Stmt::Set(0, below_zero)], 1), Err(Invalid::Overflow));
}
