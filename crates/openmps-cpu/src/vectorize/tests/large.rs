//! What becomes of large kernels: loops that stay, slots that stay in memory, refusals.

use super::super::choice::Slots;
use super::*;

/// Code with three blocks and nine registers for each of `parts`, with a barrier at its end if asked for.
fn parts(count: usize, waits: bool) -> String {
    let mut text = "entry:\n  %v0 = uitofp i32 %x to float\n  br label %part1\n".to_owned();
    for part in 1..=count {
        let before = part - 1;
        let _ = write!(
            text,
            "part{part}:
  %c{part} = fcmp ogt float %v{before}, {part}.0
  br i1 %c{part}, label %more{part}, label %less{part}
more{part}:
  %a{part} = fmul float %v{before}, 0.5
  br label %join{part}
less{part}:
  %b{part} = fadd float %v{before}, 2.0
  br label %join{part}
join{part}:
  %v{part} = phi float [ %a{part}, %more{part} ], [ %b{part}, %less{part} ]
  br label %part{}
",
            part + 1
        );
    }
    let wait = if waits { format!("  call void @{MARKER}()\n") } else { String::new() };
    let _ = write!(text, "part{}:\n{wait}  %at = getelementptr float, ptr %p, i32 %x\n", count + 1);
    let _ = write!(text, "  store float %v{count}, ptr %at\n  ret void");
    if waits {
        let _ = write!(text, "\n}}\ndeclare void @{MARKER}()\ndefine void @other() {{\n  ret void");
    }
    text
}

fn slots(size: Size, count: usize, waits: bool) -> Result<Slots, Refusal> {
    made(EngineChoice::Vector, size, &parts(count, waits)).map(|(_, made)| made.slots)
}

#[test]
fn values_of_large_code_stay_in_memory() {
    assert_eq!(slots(Size::Rolled, 30, false), Ok(Slots::InRegisters));
    assert_eq!(slots(Size::Rolled, 280, false), Ok(Slots::InMemory));
    // What is kept across barriers is found among values.
    assert_eq!(slots(Size::Rolled, 280, true), Ok(Slots::InRegisters));
}

#[test]
fn code_that_is_too_large_with_its_loops_unrolled_may_be_with_loops() {
    assert_eq!(slots(Size::Unrolled, 140, false), Ok(Slots::InRegisters));
    assert_eq!(slots(Size::Unrolled, 160, false), Err(Refusal::TooLarge));
    slots(Size::Rolled, 160, false).unwrap();
    assert_eq!(slots(Size::Rolled, 320, false), Err(Refusal::TooLarge));
}
