//! What the pass makes of small functions, as text, and that what the driver writes around them is valid.

use expect_test::{Expect, expect};
use openmps_llvm::Context;

use super::*;

/// A barrier in a loop of 10 turns.
const WAITING_LOOP: &str = "entry:
           br label %loop
         loop:
           %i = phi i32 [ 0, %entry ], [ %next, %loop ]
           call void @openmps_barrier()
           %next = add i32 %i, 1
           %more = icmp ult i32 %next, 10
           br i1 %more, label %loop, label %end
         end:
           ret void\n";

#[test]
fn steps_that_go_the_same_way_need_no_word() {
    for (ways, has_word) in [(Ways::Same, false), (Ways::Own, true)] {
        let context = Context::new();
        let text =
            format!("declare void @{MARKER}() convergent\ndefine void @{STEP}({SIMD_GROUP}) {{\n{WAITING_LOOP}}}\n");
        let mut module = context.parse_ir(&text).unwrap();
        let split = run(&mut module, Steps::RowSegments, ways).unwrap();
        assert_eq!(split.word_offset.is_some(), has_word, "{ways:?}");
        let driver = driver_text(&split, Steps::RowSegments);
        context.parse_ir(&driver).unwrap().verify().unwrap();
        assert_eq!(driver.contains("search:"), has_word, "{driver}");
        assert!(
            driver.contains("label %done [ i32 1, label %state.1 ]"),
            "the last step tells the next state: {driver}"
        );
    }
}

/// Splits the step of `text`, checks it and the driver of both kinds of steps, and compares the step.
fn check(parameters: &str, body: &str, expected: Expect) -> Split {
    let context = Context::new();
    let marker = format!("declare void @{MARKER}() convergent nounwind\n");
    let text = format!("{marker}define internal void @{STEP}({parameters}) {{\n{body}}}\n!0 = !{{}}\n");
    let mut module = context.parse_ir(&text).unwrap();
    module.verify().unwrap();
    let split = run(&mut module, Steps::Threads, Ways::Own).unwrap();
    module.verify().unwrap_or_else(|error| panic!("{error} in {module}"));
    let step = module.function(STEP).unwrap().as_value().to_string();
    expected.assert_eq(&step);
    for steps in [Steps::Threads, Steps::RowSegments] {
        context.parse_ir(&driver_text(&split, steps)).unwrap().verify().unwrap();
    }
    module.link(context.parse_ir(&driver_text(&split, Steps::RowSegments)).unwrap()).unwrap();
    module.run_passes("always-inline,globaldce,default<O1>", None, PassOptions::default()).unwrap();
    module.verify().unwrap();
    split
}

const THREAD: &str = "ptr %context, i32 %thread, i32 %x, i32 %y, i32 %z";
const SIMD_GROUP: &str = "ptr %context, i32 %simdgroup, i32 %x, i32 %y, i32 %z";

#[test]
fn without_barriers_there_is_one_state() {
    let split = check(
        THREAD,
        "entry:
           store i32 %thread, ptr %context
           ret void\n",
        expect![[r#"
            ; Function Attrs: alwaysinline nounwind
            define i32 @openmps_step(ptr %context, i32 %thread, i32 %x, i32 %y, i32 %z, ptr %frame, i32 %state) #1 {
            dispatch:
              br label %entry

            entry:                                            ; preds = %dispatch
              store i32 %thread, ptr %context, align 4
              ret i32 -1
            }"#]],
    );
    assert_eq!((split.frame_bytes, split.word_offset, split.followers.len()), (0, None, 1));
}

#[test]
fn loaded_values_are_kept_and_cheap_ones_computed_again() {
    let split = check(
        THREAD,
        "entry:
           %buffer = load ptr, ptr %context, !invariant.load !0
           %i = zext i32 %thread to i64
           %p = getelementptr float, ptr %buffer, i64 %i
           %kept = load float, ptr %p
           call void @openmps_barrier()
           %quarter = udiv i32 %thread, 5
           call void @openmps_barrier()
           %sum = fadd float %kept, 1.0
           store float %sum, ptr %p
           store i32 %quarter, ptr %buffer
           ret void\n",
        expect![[r#"
            ; Function Attrs: alwaysinline nounwind
            define i32 @openmps_step(ptr %context, i32 %thread, i32 %x, i32 %y, i32 %z, ptr %frame, i32 %state) #1 {
            dispatch:
              %buffer = load ptr, ptr %context, align 8, !invariant.load !0
              %i = zext i32 %thread to i64
              %p = getelementptr float, ptr %buffer, i64 %i
              switch i32 %state, label %entry [
                i32 1, label %resume.1
                i32 2, label %resume.2
              ]

            entry:                                            ; preds = %dispatch
              %kept = load float, ptr %p, align 4
              store float %kept, ptr %frame, align 4
              ret i32 2

            resume.1:                                         ; preds = %dispatch
              %0 = load float, ptr %frame, align 4
              br label %behind.1

            behind.1:                                         ; preds = %resume.1
              %quarter = udiv i32 %thread, 5
              %1 = getelementptr inbounds i8, ptr %frame, i64 4
              store i32 %quarter, ptr %1, align 4
              ret i32 4

            resume.2:                                         ; preds = %dispatch
              %2 = load float, ptr %frame, align 4
              %3 = getelementptr inbounds i8, ptr %frame, i64 4
              %4 = load i32, ptr %3, align 4
              br label %behind.2

            behind.2:                                         ; preds = %resume.2
              %sum = fadd float %2, 1.000000e+00
              store float %sum, ptr %p, align 4
              store i32 %4, ptr %buffer, align 4
              ret i32 -1
            }"#]],
    );
    assert_eq!((split.frame_bytes, split.word_offset), (8, None));
}

#[test]
fn a_barrier_in_a_loop_keeps_the_counter() {
    let split = check(
        THREAD,
        "entry:
           br label %loop
         loop:
           %i = phi i32 [ 0, %entry ], [ %next, %loop ]
           store i32 %i, ptr %context
           call void @openmps_barrier()
           %next = add i32 %i, %thread
           %more = icmp ult i32 %next, 10
           br i1 %more, label %loop, label %end
         end:
           ret void\n",
        expect![[r#"
            ; Function Attrs: alwaysinline nounwind
            define i32 @openmps_step(ptr %context, i32 %thread, i32 %x, i32 %y, i32 %z, ptr %frame, i32 %state) #1 {
            dispatch:
              switch i32 %state, label %entry [
                i32 1, label %resume.1
              ]

            entry:                                            ; preds = %dispatch
              br label %loop

            loop:                                             ; preds = %behind.1, %entry
              %i = phi i32 [ 0, %entry ], [ %next, %behind.1 ]
              store i32 %i, ptr %context, align 4
              store i32 %i, ptr %frame, align 4
              ret i32 2

            resume.1:                                         ; preds = %dispatch
              %0 = load i32, ptr %frame, align 4
              br label %behind.1

            behind.1:                                         ; preds = %resume.1
              %next = add i32 %0, %thread
              %more = icmp ult i32 %next, 10
              br i1 %more, label %loop, label %end

            end:                                              ; preds = %behind.1
              ret i32 -1
            }"#]],
    );
    assert_eq!((split.frame_bytes, split.word_offset), (8, Some(4)));
}

#[test]
fn steps_that_return_before_a_barrier_have_a_word() {
    let split = check(
        THREAD,
        "entry:
           %leaves = icmp ugt i32 %thread, 7
           br i1 %leaves, label %end, label %wait
         wait:
           call void @openmps_barrier()
           br label %end
         end:
           %x.end = phi i32 [ 1, %entry ], [ %thread, %wait ]
           store i32 %x.end, ptr %context
           ret void\n",
        expect![[r#"
            ; Function Attrs: alwaysinline nounwind
            define i32 @openmps_step(ptr %context, i32 %thread, i32 %x, i32 %y, i32 %z, ptr %frame, i32 %state) #1 {
            dispatch:
              %leaves = icmp ugt i32 %thread, 7
              switch i32 %state, label %entry [
                i32 1, label %resume.1
              ]

            entry:                                            ; preds = %dispatch
              br i1 %leaves, label %end, label %wait

            wait:                                             ; preds = %entry
              ret i32 2

            resume.1:                                         ; preds = %dispatch
              br label %behind.1

            behind.1:                                         ; preds = %resume.1
              br label %end

            end:                                              ; preds = %behind.1, %entry
              %x.end = phi i32 [ 1, %entry ], [ %thread, %behind.1 ]
              store i32 %x.end, ptr %context, align 4
              ret i32 -1
            }"#]],
    );
    assert_eq!((split.frame_bytes, split.word_offset), (4, Some(0)));
}

#[test]
fn variables_that_outlive_a_barrier_move_to_the_frame() {
    let split = check(
        THREAD,
        "entry:
           %crosses = alloca [4 x i32], align 16
           %stays = alloca [4 x i32], align 4
           %escapes = alloca i32, align 4
           call void @llvm.lifetime.start.p0(ptr %crosses)
           store ptr %escapes, ptr %context
           %p = getelementptr [4 x i32], ptr %crosses, i32 0, i32 %x
           store i32 1, ptr %p
           call void @openmps_barrier()
           %v = load i32, ptr %p
           %q = getelementptr [4 x i32], ptr %stays, i32 0, i32 %x
           store i32 %v, ptr %q
           %w = load i32, ptr %stays
           store i32 %w, ptr %context
           ret void\n",
        expect![[r#"
            ; Function Attrs: alwaysinline nounwind
            define i32 @openmps_step(ptr %context, i32 %thread, i32 %x, i32 %y, i32 %z, ptr %frame, i32 %state) #2 {
            dispatch:
              %0 = getelementptr inbounds i8, ptr %frame, i64 16
              %stays = alloca [4 x i32], align 4
              %p = getelementptr [4 x i32], ptr %frame, i32 0, i32 %x
              %q = getelementptr [4 x i32], ptr %stays, i32 0, i32 %x
              switch i32 %state, label %entry [
                i32 1, label %resume.1
              ]

            entry:                                            ; preds = %dispatch
              store ptr %0, ptr %context, align 8
              store i32 1, ptr %p, align 4
              ret i32 2

            resume.1:                                         ; preds = %dispatch
              br label %behind.1

            behind.1:                                         ; preds = %resume.1
              %v = load i32, ptr %p, align 4
              store i32 %v, ptr %q, align 4
              %w = load i32, ptr %stays, align 4
              store i32 %w, ptr %context, align 4
              ret i32 -1
            }"#]],
    );
    assert_eq!((split.frame_bytes, split.word_offset), (32, None));
}

#[test]
fn vectors_are_kept_whole() {
    let split = check(
        SIMD_GROUP,
        "entry:
           %mask = icmp ne <32 x i32> zeroinitializer, zeroinitializer
           %values = load <32 x float>, ptr %context
           %loaded = load <32 x i1>, ptr %context
           call void @openmps_barrier()
           store <32 x float> %values, ptr %context
           store <32 x i1> %mask, ptr %context
           store <32 x i1> %loaded, ptr %context
           ret void\n",
        expect![[r#"
            ; Function Attrs: alwaysinline nounwind
            define i32 @openmps_step(ptr %context, i32 %simdgroup, i32 %x, i32 %y, i32 %z, ptr %frame, i32 %state) #1 {
            dispatch:
              switch i32 %state, label %entry [
                i32 1, label %resume.1
              ]

            entry:                                            ; preds = %dispatch
              %values = load <32 x float>, ptr %context, align 128
              %loaded = load <32 x i1>, ptr %context, align 4
              store <32 x float> %values, ptr %frame, align 64
              %0 = getelementptr inbounds i8, ptr %frame, i64 128
              store <32 x i1> %loaded, ptr %0, align 4
              ret i32 2

            resume.1:                                         ; preds = %dispatch
              %1 = load <32 x float>, ptr %frame, align 64
              %2 = getelementptr inbounds i8, ptr %frame, i64 128
              %3 = load <32 x i1>, ptr %2, align 4
              br label %behind.1

            behind.1:                                         ; preds = %resume.1
              store <32 x float> %1, ptr %context, align 128
              store <32 x i1> %3, ptr %context, align 4
              ret i32 -1
            }"#]],
    );
    assert_eq!(split.frame_bytes, 192);
}

#[test]
fn values_meet_in_phis_on_both_sides_of_barriers() {
    check(
        THREAD,
        "entry:
           %a = load i32, ptr %context
           %c = icmp eq i32 %a, 0
           br i1 %c, label %left, label %right
         left:
           %b = load i32, ptr %context
           call void @openmps_barrier()
           br label %join
         right:
           call void @openmps_barrier()
           br label %join
         join:
           %v = phi i32 [ %b, %left ], [ %a, %right ]
           switch i32 %v, label %end [ i32 1, label %one
                                       i32 2, label %one ]
         one:
           %u = phi i32 [ %v, %join ], [ %v, %join ]
           call void @openmps_barrier()
           store i32 %u, ptr %context
           br label %end
         end:
           ret void\n",
        expect![[r#"
            ; Function Attrs: alwaysinline nounwind
            define i32 @openmps_step(ptr %context, i32 %thread, i32 %x, i32 %y, i32 %z, ptr %frame, i32 %state) #1 {
            dispatch:
              switch i32 %state, label %entry [
                i32 1, label %resume.1
                i32 2, label %resume.2
                i32 3, label %resume.3
              ]

            entry:                                            ; preds = %dispatch
              %a = load i32, ptr %context, align 4
              %c = icmp eq i32 %a, 0
              br i1 %c, label %left, label %right

            left:                                             ; preds = %entry
              store i32 %a, ptr %frame, align 4
              ret i32 2

            resume.1:                                         ; preds = %dispatch
              %0 = load i32, ptr %frame, align 4
              br label %behind.1

            behind.1:                                         ; preds = %resume.1
              br label %join

            right:                                            ; preds = %entry
              store i32 %a, ptr %frame, align 4
              ret i32 4

            resume.2:                                         ; preds = %dispatch
              %1 = load i32, ptr %frame, align 4
              br label %behind.2

            behind.2:                                         ; preds = %resume.2
              br label %join

            join:                                             ; preds = %behind.2, %behind.1
              %.0 = phi i32 [ %0, %behind.1 ], [ %1, %behind.2 ]
              switch i32 %.0, label %end [
                i32 1, label %one
                i32 2, label %one
              ]

            one:                                              ; preds = %join, %join
              ret i32 6

            resume.3:                                         ; preds = %dispatch
              %2 = load i32, ptr %frame, align 4
              br label %behind.3

            behind.3:                                         ; preds = %resume.3
              store i32 %2, ptr %context, align 4
              br label %end

            end:                                              ; preds = %behind.3, %join
              ret i32 -1
            }"#]],
    );
}

#[test]
fn what_comes_from_memory_that_never_changes_is_loaded_again() {
    let split = check(
        SIMD_GROUP,
        "entry:
           %buffer = load ptr, ptr %context, !invariant.load !0
           %wanted = icmp ult i32 %x, 64
           br i1 %wanted, label %some, label %end
         some:
           %at = getelementptr i32, ptr %buffer, i32 %y
           %n = load i32, ptr %at, !invariant.load !0
           %below = icmp ult i32 %x, %n
           store i32 1, ptr %buffer
           call void @openmps_barrier()
           %twice = shl i32 %n, 1
           %chosen = select i1 %below, i32 %twice, i32 %n
           store i32 %chosen, ptr %buffer
           br label %end
         end:
           ret void\n",
        expect![[r#"
            ; Function Attrs: alwaysinline nounwind
            define i32 @openmps_step(ptr %context, i32 %simdgroup, i32 %x, i32 %y, i32 %z, ptr %frame, i32 %state) #1 {
            dispatch:
              %buffer = load ptr, ptr %context, align 8, !invariant.load !0
              %wanted = icmp ult i32 %x, 64
              %at = getelementptr i32, ptr %buffer, i32 %y
              switch i32 %state, label %entry [
                i32 1, label %resume.1
              ]

            entry:                                            ; preds = %dispatch
              br i1 %wanted, label %some, label %end

            some:                                             ; preds = %entry
              %n = load i32, ptr %at, align 4, !invariant.load !0
              %below = icmp ult i32 %x, %n
              store i32 1, ptr %buffer, align 4
              ret i32 2

            resume.1:                                         ; preds = %dispatch
              %0 = load i32, ptr %at, align 4, !invariant.load !0
              %1 = load i32, ptr %at, align 4, !invariant.load !0
              %2 = icmp ult i32 %x, %1
              br label %behind.1

            behind.1:                                         ; preds = %resume.1
              %twice = shl i32 %0, 1
              %chosen = select i1 %2, i32 %twice, i32 %0
              store i32 %chosen, ptr %buffer, align 4
              br label %end

            end:                                              ; preds = %behind.1, %entry
              ret i32 -1
            }"#]],
    );
    assert_eq!((split.frame_bytes, split.word_offset), (4, Some(0)), "nothing but the word");
}

#[test]
fn what_takes_more_than_the_frame_is_kept() {
    let step = |at: usize| format!("%v{at} = mul i32 %v{}, %n", at - 1);
    let text: Vec<String> = (1..20).map(step).collect();
    let context = Context::new();
    let source = format!(
        "declare void @{MARKER}() convergent\ndefine void @{STEP}({SIMD_GROUP}) {{
           %v0 = load i32, ptr %context, !invariant.load !0
           %at = getelementptr i32, ptr %context, i32 %v0
           %n = load i32, ptr %at, !invariant.load !0
           {}
           call void @{MARKER}()
           store i32 %v19, ptr %context\n  ret void\n}}\n!0 = !{{}}\n",
        text.join("\n  ")
    );
    let mut module = context.parse_ir(&source).unwrap();
    let split = run(&mut module, Steps::RowSegments, Ways::Same).unwrap();
    assert_eq!(split.frame_bytes, 4);
}

#[test]
fn addresses_in_variables_are_made_again_in_the_frame() {
    check(
        SIMD_GROUP,
        "entry:
           %kept = alloca [4 x i32]
           %buffer = load ptr, ptr %context, !invariant.load !0
           %at = getelementptr i32, ptr %buffer, i32 %y
           %n = load i32, ptr %at, !invariant.load !0
           %place = getelementptr [4 x i32], ptr %kept, i32 0, i32 %n
           store i32 %x, ptr %place
           call void @openmps_barrier()
           %value = load i32, ptr %place
           store i32 %value, ptr %buffer
           ret void\n",
        expect![[r#"
            ; Function Attrs: alwaysinline nounwind
            define i32 @openmps_step(ptr %context, i32 %simdgroup, i32 %x, i32 %y, i32 %z, ptr %frame, i32 %state) #1 {
            dispatch:
              %buffer = load ptr, ptr %context, align 8, !invariant.load !0
              %at = getelementptr i32, ptr %buffer, i32 %y
              switch i32 %state, label %entry [
                i32 1, label %resume.1
              ]

            entry:                                            ; preds = %dispatch
              %n = load i32, ptr %at, align 4, !invariant.load !0
              %place = getelementptr [4 x i32], ptr %frame, i32 0, i32 %n
              store i32 %x, ptr %place, align 4
              ret i32 2

            resume.1:                                         ; preds = %dispatch
              %0 = load i32, ptr %at, align 4, !invariant.load !0
              %1 = getelementptr [4 x i32], ptr %frame, i32 0, i32 %0
              br label %behind.1

            behind.1:                                         ; preds = %resume.1
              %value = load i32, ptr %1, align 4
              store i32 %value, ptr %buffer, align 4
              ret i32 -1
            }"#]],
    );
}
