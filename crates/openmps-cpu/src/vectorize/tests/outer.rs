//! Blocks of sums of matrices.

use std::fmt::Write as _;

use openmps_engine::EngineChoice;

use super::super::choice::Size;
use super::super::refusal::Refusal;
use super::made;

const LOAD: &str = "call { float, float } @openmps_matrix_load.float.0";
const PRODUCT: &str = "call { float, float } @openmps_lane.29.0.32";

/// A loop of `%n` turns over a block of sums. `extra` is put behind its products, `count` counts the turns.
fn kernel(rows: usize, columns: usize, count: &str, extra: &str) -> String {
    let mut text = format!("  %n = {count}\n  br label %turn\nturn:\n  %k = phi i32 [ 0, %0 ], [ %next, %turn ]\n");
    let sums: Vec<String> =
        (0..rows).flat_map(|row| (0..columns).map(move |column| format!("s{row}.{column}"))).collect();
    for sum in &sums {
        for element in 0..2 {
            writeln!(text, "  %{sum}.{element} = phi float [ 0.0, %0 ], [ %{sum}.new{element}, %turn ]").unwrap();
        }
    }
    writeln!(text, "  %at = zext nneg i32 %k to i64").unwrap();
    for (name, count) in [("a", rows), ("b", columns)] {
        for number in 0..count {
            writeln!(text, "  %{name}{number}.at = getelementptr float, ptr %p, i64 %at").unwrap();
            writeln!(text, "  %{name}{number} = {LOAD}(ptr %{name}{number}.at, i64 8, i64 1)").unwrap();
            for element in 0..2 {
                writeln!(
                    text,
                    "  %{name}{number}.{element} = extractvalue {{ float, float }} %{name}{number}, {element}"
                )
                .unwrap();
            }
        }
    }
    for row in 0..rows {
        for column in 0..columns {
            let sum = format!("s{row}.{column}");
            writeln!(
                text,
                "  %{sum} = {PRODUCT}(float %a{row}.0, float %a{row}.1, float %b{column}.0, float %b{column}.1, \
                 float %{sum}.0, float %{sum}.1)"
            )
            .unwrap();
            for element in 0..2 {
                writeln!(text, "  %{sum}.new{element} = extractvalue {{ float, float }} %{sum}, {element}").unwrap();
            }
        }
    }
    writeln!(
        text,
        "{extra}  %next = add nuw nsw i32 %k, 8\n  %again = icmp ult i32 %next, %n\n  br i1 %again, label %turn, label %end\nend:"
    )
    .unwrap();
    for sum in &sums {
        for element in 0..2 {
            writeln!(text, "  %{sum}.end{element} = phi float [ %{sum}.new{element}, %turn ]").unwrap();
        }
    }
    writeln!(text, "  %wide = zext nneg i32 %x to i64\n  %mine = getelementptr float, ptr %p, i64 %wide").unwrap();
    for sum in &sums {
        for element in 0..2 {
            writeln!(text, "  store float %{sum}.end{element}, ptr %mine").unwrap();
        }
    }
    text + "  ret void"
}

/// The vector form with blocks of sums.
fn blocks(text: &str) -> Result<String, Refusal> {
    made(EngineChoice::Vector, Size::Blocks, text).map(|(text, _)| text)
}

#[test]
fn a_loop_over_a_block_of_sums_fills_panels() {
    let text = blocks(&kernel(2, 4, "add i32 %y, 0", "")).unwrap();
    for copy in ["call void @openmps_outer_step(", "call void @openmps_outer_finish("] {
        assert_eq!(text.matches(copy).count(), 2, "{copy} with and without a mask\n{text}");
    }
    assert!(!text.contains(PRODUCT), "no single product is left\n{text}");
    // Rows go from memory to memory: 6 matrices of 8 in the copy of all lanes.
    assert!(text.contains("store <8 x float> %"), "{text}");
}

#[test]
fn what_is_no_block_of_sums_stays_as_it_is() {
    for (text, reason) in [
        (kernel(2, 4, "add i32 %x, 0", ""), "lanes leave the loop at different times"),
        (kernel(1, 8, "add i32 %y, 0", ""), "a factor that is used once need not wait in memory"),
        (kernel(2, 2, "add i32 %y, 0", ""), "the sums stay in registers"),
        (kernel(2, 4, "add i32 %y, 0", "  store float %s0.1.new0, ptr %p\n"), "a sum is used in the loop"),
        (kernel(2, 4, "add i32 %y, 0", "  store float %s0.1.1, ptr %p\n"), "so is the one before"),
        (
            kernel(2, 4, "add i32 %y, 0", "").replacen("float %a1.0, float %a1.1", "float %a1.1, float %a1.0", 1),
            "another factor",
        ),
        (
            kernel(2, 4, "add i32 %y, 0", "").replacen(
                "float [ %s0.1.new0, %turn ]\n  %s0.1.end1",
                "float [ %s0.2.new0, %turn ]\n  %s0.1.end1",
                1,
            ),
            "a sum that nothing asks for one element of",
        ),
    ] {
        assert_eq!(blocks(&text).err(), Some(Refusal::TooLarge), "{reason}\n{text}");
    }
}
