//! What the analyses find in small functions, and that the vector form is valid and runs SIMD-groups as it should.
#![expect(clippy::unwrap_used, reason = "the texts are the tests' own")]

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use openmps_engine::{EngineChoice, SimdgroupRows};
use openmps_llvm::{CodeGenLevel, Context, Function, Instruction, Module, TargetMachine};

use super::analysis::Analysis;
use super::choice::{Request, Size};
use super::graph::Graph;
use super::group::Groups;
use super::refusal::Refusal;
use super::run::Made;
use super::shape::Shape;
use super::together::pass_barriers_together;
use crate::abi::KERNEL_SYMBOL;
use crate::split::MARKER;

mod across;
mod large;
mod outer;
mod shared;
mod tensor;
mod words;

/// A kernel's function of one thread: `%x` is the position, `%index` the linear index, both aligned.
fn source(body: &str) -> String {
    format!("define void @{KERNEL_SYMBOL}(ptr %p, i32 %x, i32 %y, i32 %z, i32 %index) {{\n{body}\n}}\n{DECLARATIONS}")
}

const DECLARATIONS: &str = "declare float @openmps_lane.1.0.32(float) convergent
declare i32 @openmps_lane_index() memory(none)
declare float @unknown(float)
declare { float, float } @openmps_matrix_load.float.0(ptr, i64, i64)
declare { float, float } @openmps_lane.29.0.32(float, float, float, float, float, float) convergent
!0 = !{}
";

fn with_function<R>(text: &str, run: impl FnOnce(&Module<'_>, Function<'_>) -> R) -> R {
    let context = Context::new();
    let module = context.parse_ir(text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
    module.verify().unwrap();
    let function = module.function(KERNEL_SYMBOL).unwrap();
    run(&module, function)
}

const SEEDS: [Shape; 5] = [Shape::Uniform, Shape::Varying, Shape::Uniform, Shape::Uniform, Shape::Varying];

fn seeds() -> Vec<Shape> {
    let position = Shape::position(1023, true, 32);
    SEEDS.iter().map(|&seed| if seed == Shape::Varying { position } else { seed }).collect()
}

fn name_of(shape: Shape, row_lanes: u32) -> String {
    match shape {
        Shape::Uniform => "uniform".to_owned(),
        Shape::Varying => "varying".to_owned(),
        Shape::Affine(affine) => {
            let mut text = match (affine.lane_stride(row_lanes), affine.rows) {
                (Some(stride), _) => format!("{stride:+}"),
                (None, Some(rows)) => format!("{:+} rows {rows:+}", affine.stride),
                (None, None) => format!("{:+} by rows", affine.stride),
            };
            for (is_set, word) in [
                (affine.unsigned_max.is_some(), " unsigned"),
                (affine.signed, " signed"),
                (affine.aligned, " aligned"),
                (affine.checked, " checked"),
            ] {
                text.push_str(if is_set { word } else { "" });
            }
            text
        }
    }
}

/// The shape of every named value, blocks where lanes part, divergent loops.
fn check(body: &str, expected: &Expect) {
    check_rows(body, &seeds(), 32, expected);
}

/// The same of lanes in rows of `row_lanes`, of which `seeds` are the shapes of the parameters.
fn check_rows(body: &str, seeds: &[Shape], row_lanes: u32, expected: &Expect) {
    let found = with_function(&source(body), |module, function| {
        let graph = Graph::new(function).unwrap();
        let analysis = Analysis::new(module, function, &graph, seeds, row_lanes).unwrap();
        let mut text = String::new();
        let named = |instruction: &Instruction<'_>| !instruction.as_value().name().is_empty();
        for instruction in function.instructions().into_iter().filter(named) {
            let value = instruction.as_value();
            let _ = writeln!(text, "{}: {}", value.name(), name_of(analysis.shape(value), row_lanes));
        }
        for (number, block) in graph.blocks.iter().enumerate().filter(|(number, _)| analysis.parts[*number]) {
            let _ = number;
            let _ = writeln!(text, "lanes part at {}", block.name());
        }
        for (number, found) in graph.loops.iter().enumerate().filter(|(number, _)| analysis.divergent[*number]) {
            let _ = number;
            let _ = writeln!(text, "lanes leave the loop of {} at different times", graph.blocks[found.header].name());
        }
        text
    });
    expected.assert_eq(&found);
}

#[test]
fn positions_count_lanes_and_addresses_follow() {
    check(
        "  %twice = shl nuw nsw i32 %x, 1
  %odd = or disjoint i32 %twice, 1
  %far = add i32 %x, %y
  %far.wide = zext i32 %far to i64
  %wide = zext i32 %odd to i64
  %at = getelementptr float, ptr %p, i64 %wide
  %v = load float, ptr %at
  %u = load float, ptr %p
  %s = mul i32 %x, %y
  ret void",
        &expect![[r"
            twice: +2 unsigned signed
            odd: +2 unsigned signed
            far: +1
            far.wide: +1 unsigned signed checked
            wide: +2 unsigned signed
            at: +8
            v: varying
            u: uniform
            s: varying
        "]],
    );
}

#[test]
fn rows_have_steps_or_numbers_of_their_own() {
    let body = "  %place = mul i32 %y, 16
  %index.too = add i32 %place, %x
  %n = load i32, ptr %p
  %row.start = mul i32 %y, %n
  %k = add i32 %row.start, %n
  %at.i = add i32 %k, %x
  %wide = zext i32 %at.i to i64
  %at = getelementptr float, ptr %p, i64 %wide
  %v = load float, ptr %at
  %row.wide = zext i32 %row.start to i64
  %shared = getelementptr float, ptr %p, i64 %row.wide
  %flat = udiv i32 %row.start, %n
  %tile = getelementptr [16 x float], ptr %p, i32 %y, i32 %x
  %twice = mul i32 %x, %n
  %above = icmp ugt i32 %row.start, 7
  ret void";
    let seeds = |lanes| {
        let whole = Shape::position(1023, true, lanes);
        [Shape::Uniform, Shape::column(lanes), Shape::row(63), Shape::Uniform, whole]
    };
    check_rows(
        body,
        &seeds(16),
        16,
        &expect![[r"
            place: +0 rows +16 unsigned signed
            index.too: +1 unsigned signed
            n: uniform
            row.start: +0 by rows unsigned signed
            k: +0 by rows
            at.i: +1 by rows
            wide: +1 by rows unsigned signed checked
            at: +4 by rows checked
            v: varying
            row.wide: +0 by rows unsigned signed
            shared: +0 by rows
            flat: varying
            tile: +4
            twice: varying
            above: varying
    "]],
    );
    check_rows(
        body,
        &seeds(4),
        4,
        &expect![[r"
            place: +0 rows +16 unsigned signed
            index.too: +1 rows +16 unsigned signed
            n: uniform
            row.start: varying
            k: varying
            at.i: varying
            wide: varying
            at: varying
            v: varying
            row.wide: varying
            shared: varying
            flat: varying
            tile: +4 rows +64
            twice: varying
            above: varying
    "]],
    );
}

#[test]
fn simdgroup_and_lane_come_from_an_aligned_index() {
    check(
        "  %group = lshr i32 %index, 5
  %lane = and i32 %index, 31
  %half = and i32 %index, 15
  %own = call i32 @openmps_lane_index()
  %other = add i32 %index, 7
  %shifted = lshr i32 %other, 5
  ret void",
        &expect![[r"
            group: uniform
            lane: +1 unsigned signed aligned
            half: varying
            own: +1 unsigned signed aligned
            other: +1 unsigned signed
            shifted: varying
        "]],
    );
}

#[test]
fn whole_simdgroups_are_below_a_multiple_of_32_or_not() {
    check(
        "  %below = icmp ult i32 %x, 64
  %within = icmp ult i32 %x, 65
  %up.to = icmp sle i32 %index, 95
  %above = icmp ugt i32 64, %x
  %behind = icmp ult i32 63, %x
  %at = icmp eq i32 %x, 64
  %far = add i32 %x, 7
  %shifted = icmp ult i32 %far, 64
  ret void",
        &expect![[r"
            below: uniform
            within: varying
            up.to: uniform
            above: uniform
            behind: uniform
            at: varying
            far: +1 unsigned signed
            shifted: varying
        "]],
    );
}

#[test]
fn a_varying_branch_makes_phis_vary_where_ways_meet_and_nowhere_else() {
    check(
        "entry:
  %c = icmp ult i32 %x, %y
  br i1 %c, label %then, label %join
then:
  %u = add i32 %y, 1
  br label %join
join:
  %m = phi i32 [ 0, %entry ], [ %u, %then ]
  %d = icmp eq i32 %y, 3
  br i1 %d, label %left, label %end
left:
  br label %end
end:
  %n = phi i32 [ 1, %join ], [ 2, %left ]
  ret void",
        &expect![[r"
            c: varying
            u: uniform
            m: varying
            d: uniform
            n: uniform
            lanes part at entry
        "]],
    );
}

#[test]
fn a_uniform_loop_in_a_divergent_branch_stays_uniform() {
    check(
        "entry:
  %c = icmp ult i32 %x, 7
  br i1 %c, label %ahead, label %end
ahead:
  br label %loop
loop:
  %i = phi i32 [ 0, %ahead ], [ %next, %loop.end ]
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %y
  br i1 %more, label %loop.end, label %out
loop.end:
  br label %loop
out:
  br label %end
end:
  ret void",
        &expect![[r"
            c: varying
            i: uniform
            next: uniform
            more: uniform
            lanes part at entry
        "]],
    );
}

#[test]
fn what_leaves_a_divergent_loop_varies() {
    check(
        "entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop.end ]
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %x
  br i1 %more, label %loop.end, label %out
loop.end:
  br label %loop
out:
  %last = phi i32 [ %next, %loop ]
  ret void",
        &expect![[r"
            i: uniform
            next: uniform
            more: varying
            last: varying
            lanes part at loop
            lanes leave the loop of loop at different times
        "]],
    );
}

#[test]
fn two_ways_out_of_a_divergent_loop_meet_as_a_join() {
    check(
        "entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop.end ]
  %next = add i32 %i, 1
  %early = icmp ugt i32 %next, %x
  br i1 %early, label %first, label %rest
rest:
  %late = icmp ugt i32 %next, %y
  br i1 %late, label %second, label %loop.end
loop.end:
  br label %loop
first:
  br label %end
second:
  br label %end
end:
  %way = phi i32 [ 1, %first ], [ 2, %second ]
  ret void",
        &expect![[r"
            i: uniform
            next: uniform
            early: varying
            late: uniform
            way: varying
            lanes part at loop
            lanes part at rest
            lanes leave the loop of loop at different times
        "]],
    );
}

/// What `fix-irreducible` makes of a loop that some threads enter in the middle.
#[test]
fn lanes_that_meet_again_in_the_next_turn_are_apart_in_this_one() {
    check(
        "entry:
  %odd = trunc i32 %x to i1
  br label %guard
guard:
  %middle = phi i1 [ %odd, %entry ], [ false, %second ]
  %n = phi i32 [ 0, %entry ], [ %turns, %second ]
  br i1 %middle, label %skip, label %test
test:
  %more = icmp ult i32 %n, %y
  br i1 %more, label %first, label %end
first:
  %next = add i32 %n, 1
  br label %second
skip:
  br label %second
second:
  %turns = phi i32 [ %next, %first ], [ 0, %skip ]
  br label %guard
end:
  %last = phi i32 [ %n, %test ]
  ret void",
        &expect![[r"
            odd: varying
            middle: varying
            n: varying
            more: varying
            next: varying
            turns: varying
            last: varying
            lanes part at guard
            lanes part at test
            lanes leave the loop of guard at different times
        "]],
    );
}

#[test]
fn what_is_computed_from_undefined_values_alone_has_a_shape() {
    check(
        "entry:
  %odd = trunc i32 %x to i1
  br label %loop
loop:
  %never = phi i32 [ undef, %entry ], [ %chosen, %loop.end ]
  %i = phi i32 [ 0, %entry ], [ %next, %loop.end ]
  %chosen = select i1 %odd, i32 %never, i32 %never
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %y
  br i1 %more, label %loop.end, label %out
loop.end:
  br label %loop
out:
  ret void",
        &expect![[r"
            odd: varying
            never: varying
            i: uniform
            chosen: varying
            next: uniform
            more: uniform
        "]],
    );
}

#[test]
fn a_value_that_leaves_a_divergent_loop_by_itself_is_refused() {
    let body = "entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop.end ]
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %x
  br i1 %more, label %loop.end, label %out
loop.end:
  br label %loop
out:
  store i32 %next, ptr %p
  ret void";
    let refusal = with_function(&source(body), |module, function| {
        let graph = Graph::new(function).unwrap();
        Analysis::new(module, function, &graph, &seeds(), 32).err()
    });
    assert_eq!(refusal, Some(Refusal::LoopValue));
}

#[test]
fn accesses_side_by_side_are_a_group_unless_something_is_between() {
    let count = |between: &str| {
        let body = format!(
            "  %twice = shl nuw nsw i32 %x, 1
  %a = zext i32 %twice to i64
  %pa = getelementptr float, ptr %p, i64 %a
  %va = load float, ptr %pa
{between}
  %odd = or disjoint i32 %twice, 1
  %b = zext i32 %odd to i64
  %pb = getelementptr float, ptr %p, i64 %b
  %vb = load float, ptr %pb
  ret void"
        );
        with_function(&source(&body), |module, function| {
            let graph = Graph::new(function).unwrap();
            let analysis = Analysis::new(module, function, &graph, &seeds(), 32).unwrap();
            let groups = Groups::find(module, &graph, &analysis);
            let loads = function.instructions().into_iter().filter(|it| groups.of(*it).is_some());
            loads.count()
        })
    };
    assert_eq!(count(""), 2);
    assert_eq!(count("  %s = fadd float %va, 1.0"), 2);
    assert_eq!(count("  store float 0.0, ptr %pa"), 2, "another element of each lane");
    let of_second = "  %early = or disjoint i32 %twice, 1
  %early.long = zext i32 %early to i64
  %early.at = getelementptr float, ptr %p, i64 %early.long
  store float 0.0, ptr %early.at";
    assert_eq!(count(of_second), 0, "what the second load reads");
    assert_eq!(count("  %q = load ptr, ptr %p\n  store float 0.0, ptr %q"), 0, "anything");
    assert_eq!(count("  %n = load i32, ptr %p, !invariant.load !0"), 2);
    assert_eq!(count("  %e = call float @unknown(float %va)"), 0);
}

/// The vector form, which is valid.
fn vectorized(body: &str) -> Result<String, Refusal> {
    vectorized_as(EngineChoice::Vector, body)
}

fn vectorized_as(choice: EngineChoice, body: &str) -> Result<String, Refusal> {
    made(choice, Size::Unrolled, body).map(|(text, _)| text)
}

fn made(choice: EngineChoice, size: Size, body: &str) -> Result<(String, Made), Refusal> {
    let machine = TargetMachine::generic(CodeGenLevel::Default).unwrap();
    made_for(&machine, choice, size, body)
}

fn vectorized_for(machine: &TargetMachine, body: &str) -> String {
    made_for(machine, EngineChoice::Vector, Size::Unrolled, body).unwrap().0
}

fn made_for(machine: &TargetMachine, choice: EngineChoice, size: Size, body: &str) -> Result<(String, Made), Refusal> {
    let context = Context::new();
    let mut module = context.parse_ir(&source(body)).unwrap();
    let rows = SimdgroupRows::One;
    let request = Request { rows, whole_simdgroups: true, choice, size };
    let made = super::run(&mut module, machine, request)?;
    module.verify().unwrap_or_else(|error| panic!("{error} in\n{module}"));
    Ok((module.to_string(), made))
}

#[test]
fn consecutive_loads_are_one_and_lanes_fold_in_registers() {
    let text = vectorized(
        "  %wide = zext i32 %x to i64
  %at = getelementptr float, ptr %p, i64 %wide
  %v = load float, ptr %at
  %s = call float @openmps_lane.1.0.32(float %v)
  store float %s, ptr %at
  ret void",
    )
    .unwrap();
    for part in ["load <32 x float>", "@llvm.masked.load.v32f32", "fadd <16 x float>", "store <32 x float>"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    for part in ["gather", "scatter"] {
        assert!(!text.contains(part), "{part} in\n{text}");
    }
}

#[test]
fn a_step_that_may_wrap_is_tested_at_run_time() {
    let text = vectorized(
        "  %far = add i32 %x, %y
  %wide = zext i32 %far to i64
  %at = getelementptr float, ptr %p, i64 %wide
  %v = load float, ptr %at
  store float %v, ptr %p
  ret void",
    )
    .unwrap();
    for part in ["load <32 x float>", "gather", "icmp ule i32"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

#[test]
fn vectors_that_differ_between_lanes_are_refused() {
    let body = "  %f = uitofp i32 %x to float
  %v = insertelement <2 x float> zeroinitializer, float %f, i32 0
  store <2 x float> %v, ptr %p
  ret void";
    assert_eq!(vectorized(body), Err(Refusal::CompositeValue));
}

const STRAIGHT: &str = "  %wide = zext i32 %x to i64
  %at = getelementptr float, ptr %p, i64 %wide
  %v = load float, ptr %at
  %s = fadd float %v, 1.0
  store float %s, ptr %at
  ret void";

#[test]
fn loops_are_told_from_straight_code() {
    let has_loops = |body: &str| made(EngineChoice::Auto, Size::Unrolled, body).unwrap().1.has_loops;
    assert!(!has_loops(STRAIGHT));
    assert!(has_loops(
        "entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %next = add i32 %i, 1
  store i32 %next, ptr %p
  %more = icmp ult i32 %next, %y
  br i1 %more, label %loop, label %out
out:
  ret void"
    ));
}

#[test]
fn large_code_stays_scalar_earlier_when_nobody_asked_for_vectors() {
    // Each addition writes two registers of 64 bytes.
    let body = |count: usize| {
        let mut text = "  %wide = zext i32 %x to i64\n  %at = getelementptr float, ptr %p, i64 %wide\n  \
                        %v0 = load float, ptr %at\n  %s = call float @openmps_lane.1.0.32(float %v0)\n"
            .to_owned();
        for at in 1..=count {
            let _ = writeln!(text, "  %v{at} = fadd float %v{}, %s", at - 1);
        }
        text + &format!("  store float %v{count}, ptr %at\n  ret void")
    };
    vectorized_as(EngineChoice::Auto, &body(700)).unwrap();
    assert_eq!(vectorized_as(EngineChoice::Auto, &body(900)), Err(Refusal::TooLarge));
    vectorized_as(EngineChoice::Vector, &body(900)).unwrap();
    assert_eq!(vectorized_as(EngineChoice::Vector, &body(3200)), Err(Refusal::TooLarge));
}

fn pass_together(body: &str) -> bool {
    let text = format!("{}declare void @{MARKER}() convergent\n", source(body));
    with_function(&text, |_, function| pass_barriers_together(function, &Graph::new(function).unwrap()))
}

/// A loop with a barrier that ends after as many turns as `%turns`, which `first` computes.
fn waiting_loop(first: &str, condition: &str) -> bool {
    pass_together(&format!(
        "entry:
  {first}
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %behind ]
  %near = icmp ult i32 %x, 7
  br i1 %near, label %then, label %wait
then:
  store i32 %i, ptr %p
  br label %wait
wait:
  call void @{MARKER}()
  br label %behind
behind:
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, {condition}
  br i1 %more, label %loop, label %end
end:
  ret void"
    ))
}

#[test]
fn threads_pass_barriers_together_when_arguments_alone_decide() {
    assert!(waiting_loop("%turns = load i32, ptr %p, !invariant.load !0", "%turns"));
    assert!(waiting_loop("", "10"));
}

#[test]
fn threads_may_part_at_barriers_by_position_memory_or_what_lanes_say() {
    assert!(!waiting_loop("", "%x"), "the thread's own number of turns");
    assert!(!waiting_loop("", "%y"), "the row's own number of turns");
    assert!(!waiting_loop("%turns = load i32, ptr %p", "%turns"), "memory that kernels write");
    assert!(!waiting_loop("%turns = call i32 @openmps_lane_index()", "%turns"));
    assert!(!pass_together(&format!(
        "entry:
  %c = icmp ult i32 %x, 7
  br i1 %c, label %wait, label %end
wait:
  call void @{MARKER}()
  br label %end
end:
  ret void"
    )));
}

/// Where lanes part at `%c`, and one block is on one of the ways.
fn arm(condition: &str) -> String {
    vectorized(&format!(
        "entry:
  %at = zext nneg i32 %x to i64
  %a = getelementptr float, ptr %p, i64 %at
  %c = icmp {condition}
  br i1 %c, label %then, label %end
then:
  %v = load float, ptr %a
  %d = fadd float %v, %v
  store float %d, ptr %a
  br label %end
end:
  ret void"
    ))
    .unwrap()
}

#[test]
fn the_first_lanes_of_a_known_number_read_and_write_narrow_vectors() {
    let text = arm("ult i32 %x, 40");
    assert!(text.contains("load <8 x float>") && text.contains("store <8 x float>"), "{text}");
    let text = arm("ult i32 %x, 37");
    assert!(!text.contains("<5 x float>"), "only powers of two: {text}");
    // Where nobody knows how many, and in the copy for some of the lanes, with masks.
    let text = arm("ult i32 %x, %y");
    assert_eq!(text.matches("call void @llvm.masked.store").count(), 2, "{text}");
}

#[test]
fn both_copies_wait_at_one_barrier_that_is_not_skipped() {
    let text = vectorized(
        "entry:
  %odd = trunc i32 %x to i1
  br i1 %odd, label %then, label %meet
then:
  store i32 %x, ptr %p
  br label %meet
meet:
  call void @openmps_barrier()
  %at = getelementptr i32, ptr %p, i32 %x
  store i32 %x, ptr %at
  ret void
}
declare void @openmps_barrier() convergent
define void @other() {
  ret void",
    )
    .unwrap();
    assert_eq!(text.matches("call void @openmps_barrier()").count(), 1, "{text}");
}

#[test]
fn the_first_and_the_last_lane_decide_a_comparison_with_a_position() {
    let text = vectorized(
        "entry:
  %inside = icmp ult i32 %x, %y
  br i1 %inside, label %then, label %done
then:
  %at = getelementptr i32, ptr %p, i32 %x
  store i32 %x, ptr %at
  br label %done
done:
  ret void",
    )
    .unwrap();
    for part in ["add i32 %1, 31", "icmp ult i32 %1, %2"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

#[test]
fn a_matrix_is_read_by_rows_or_columns_where_they_lie_in_memory() {
    let load = |row: &str, column: &str| {
        vectorized(&format!(
            "  %far = zext i32 %y to i64
  %m = call {{ float, float }} @openmps_matrix_load.float.0(ptr %p, i64 {row}, i64 {column})
  %a = extractvalue {{ float, float }} %m, 0
  %at = getelementptr float, ptr %p, i32 %x
  store float %a, ptr %at
  ret void"
        ))
        .unwrap()
    };
    for (row, column) in [("%far", "1"), ("1", "%far")] {
        let text = load(row, column);
        assert_eq!(text.matches("load <8 x float>").count(), 8, "{text}");
    }
    let text = load("%far", "%far");
    assert!(!text.contains("load <8 x float>") && text.contains("gather"), "{text}");
}

#[test]
fn threadgroup_counters_are_counted_out_of_registers_by_a_narrow_index() {
    let count = |index: &str| {
        vectorized(&format!(
            "  %at = zext nneg i32 %x to i64
  %a = getelementptr i32, ptr %p, i64 %at
  %bin = load i32, ptr %a
  {index}
  %t = load ptr addrspace(3), ptr %p, !invariant.load !0
  %place = getelementptr i32, ptr addrspace(3) %t, i64 %wide
  %old = atomicrmw add ptr addrspace(3) %place, i32 1 monotonic
  ret void"
        ))
        .unwrap()
    };
    let text = count("%wide = zext i32 %bin to i64");
    assert_eq!(text.matches("extractelement <32 x i32>").count(), 32, "{text}");
    assert!(!text.contains("<32 x ptr addrspace(3)>"), "addresses are computed lane by lane: {text}");
    assert!(!text.contains("atomicrmw"), "one core runs a threadgroup: {text}");
    // An index that is no extension.
    let text = count("%long = zext i32 %bin to i64\n  %wide = mul i64 %long, %long");
    assert_eq!(text.matches("extractelement <32 x i64>").count(), 32, "{text}");
}

#[test]
fn gathers_by_unsigned_numbers_of_32_bits_take_signed_ones() {
    let gather = |index: &str| {
        vectorized(&format!(
            "  %at = zext nneg i32 %x to i64
  %a = getelementptr i32, ptr %p, i64 %at
  %where = load i32, ptr %a
  %long = {index}
  %b = getelementptr i32, ptr %p, i64 %long
  %v = load i32, ptr %b
  store i32 %v, ptr %a
  ret void"
        ))
        .unwrap()
    };
    let text = gather("zext i32 %where to i64");
    assert!(text.contains("getelementptr i32, ptr %0, i64 2147483648"), "the place is moved: {text}");
    assert!(text.contains("splat (i32 -2147483648)") && text.contains("= sext <32 x i32>"), "and the numbers: {text}");
    let text = gather("sext i32 %where to i64");
    assert!(!text.contains("2147483648"), "signed numbers are as they are: {text}");
}
