//! Counting the floating-point operations of a kernel from its text, where every thread does the same ones.
//!
//! That is so for a kernel of one block, and for one whose only branch leaves it at once (`if (i >= n) return;`), counted as if
//! no thread left. Counted are additions, subtractions, multiplications, divisions and negations, one for each lane of a
//! vector, and two for a fused multiplication and addition. Math functions count as one. Calls of other functions, loops and
//! branches make a kernel uncountable.

/// Floating-point operations of one thread of `kernel` in the module `text` (LLVM IR).
pub(super) fn per_thread(text: &str, kernel: &str) -> Option<u64> {
    let body = body(text, kernel)?;
    let blocks = blocks(&body);
    let straight = match blocks.as_slice() {
        [only] => vec![*only],
        _ => guarded(&blocks)?,
    };
    straight.into_iter().flatten().map(|line| operations(line)).sum()
}

/// The lines of the function's definition.
fn body<'a>(text: &'a str, kernel: &str) -> Option<Vec<&'a str>> {
    let names = [format!("@{kernel}("), format!("@\"{kernel}\"(")];
    let mut lines = text.lines();
    lines.find(|line| line.starts_with("define ") && names.iter().any(|name| line.contains(name.as_str())))?;
    Some(lines.map(str::trim).take_while(|line| *line != "}").filter(|line| !line.is_empty()).collect())
}

/// The body cut at labels.
fn blocks<'a, 'b>(body: &'b [&'a str]) -> Vec<&'b [&'a str]> {
    let mut blocks: Vec<&[&str]> = Vec::new();
    let mut start = 0;
    for (number, line) in body.iter().enumerate() {
        let is_label = line.split_whitespace().next().is_some_and(|word| word.ends_with(':'));
        if is_label && number > start {
            blocks.push(&body[start..number]);
        }
        if is_label {
            start = number + 1;
        }
    }
    blocks.push(&body[start..]);
    blocks.retain(|block| !block.is_empty());
    blocks
}

/// The blocks of a kernel that either leaves at once or does everything: entry, work, return.
fn guarded<'a, 'b>(blocks: &[&'b [&'a str]]) -> Option<Vec<&'b [&'a str]>> {
    let [entry, work, end] = blocks else { return None };
    let conditional = entry.last()?.starts_with("br i1 ");
    let joins = work.last()?.starts_with("br label ") || work.last()?.starts_with("ret ");
    let ends = end.len() == 1 && end[0].starts_with("ret ");
    // The work may stand behind the return.
    let returns_first = work.len() == 1 && work[0].starts_with("ret ");
    match (conditional, returns_first) {
        (true, false) if joins && ends => Some(vec![entry, work]),
        (true, true) if end.last()?.starts_with("ret ") => Some(vec![entry, end]),
        _ => None,
    }
}

/// Operations of one instruction; none where it cannot be told.
fn operations(line: &str) -> Option<u64> {
    let instruction = line.split_once(" = ").map_or(line, |(_, instruction)| instruction);
    let word = instruction.split_whitespace().next().unwrap_or_default();
    match word {
        "fadd" | "fsub" | "fmul" | "fdiv" | "frem" | "fneg" => Some(lanes(instruction)),
        "call" | "tail" | "musttail" | "notail" => call(instruction),
        "invoke" | "switch" | "indirectbr" => None,
        _ => Some(0),
    }
}

fn call(instruction: &str) -> Option<u64> {
    let name = instruction.split_once('@')?.1.split('(').next()?.trim_matches('"');
    let is_float = ["half", "bfloat", "float", "double"].iter().any(|ty| {
        let result = instruction.split('@').next().unwrap_or_default();
        result.split(|c: char| !c.is_alphanumeric()).any(|word| word == *ty)
    });
    let base = name.strip_prefix("air.").or_else(|| name.strip_prefix("llvm."))?;
    if !is_float || base.starts_with("convert.") || base.contains("load") || base.starts_with("simd_shuffle") {
        return Some(0);
    }
    let each = if base.starts_with("fma") || base.starts_with("fmuladd") { 2 } else { 1 };
    Some(each * lanes(instruction))
}

/// Lanes of the instruction's first vector type, else 1.
fn lanes(instruction: &str) -> u64 {
    let count = instruction.split_once('<').and_then(|(_, rest)| rest.split_once(" x "));
    count.and_then(|(count, _)| count.parse().ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn straight_kernels_are_counted() {
        let text = "define void @k(ptr %a) {\nentry:\n  %x = load float, ptr %a\n  %y = fmul fast float %x, %x\n  \
                    %z = tail call float @air.fma.f32(float %y, float %y, float %y)\n  \
                    %v = fadd <4 x float> %p, %q\n  %s = call float @air.sin.f32(float %z)\n  \
                    %b = call i32 @air.clz.i32(i32 0)\n  ret void\n}\n";
        assert_eq!(per_thread(text, "k"), Some(1 + 2 + 4 + 1));
        assert_eq!(per_thread(text, "other"), None);
    }

    #[test]
    fn a_guard_is_no_branch() {
        let guard = "define void @k(i32 %i) {\n  %c = icmp ult i32 %i, 4\n  br i1 %c, label %2, label %4\n\n2:                ; preds = %1\n  \
                     %3 = fadd float %x, %y\n  br label %4\n\n4:    ; preds = %2, %1\n  ret void\n}\n";
        assert_eq!(per_thread(guard, "k"), Some(1));
    }

    #[test]
    fn loops_and_calls_are_not_counted() {
        let spin = "define void @k() {\n  br label %1\n1:\n  %2 = fadd float %x, %y\n  br i1 %c, label %1, label %3\n3:\n  ret void\n}\n";
        assert_eq!(per_thread(spin, "k"), None);
        let call = "define void @k() {\n  call void @helper(float 1.0)\n  ret void\n}\n";
        assert_eq!(per_thread(call, "k"), None);
    }
}
