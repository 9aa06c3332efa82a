//! Kernels with hundreds of branches, whose values the vector engine keeps in memory.

use std::fmt::Write as _;

use openmps_engine::{Bindings, Builtin};

use crate::harness::{Random, bind, buffer, builtin, compile, dispatch};

/// Branches, each on the value that the one before left.
const PARTS: usize = 250;
/// Threads, not a multiple of a SIMD-group's.
const THREADS: usize = 77;

/// Where the value is above 1, half of it and a number of the part's own row are the next, else it and 0.75.
fn text() -> String {
    let mut text = "define void @k(ptr addrspace(1) %out, ptr addrspace(1) %rows, i32 %thread) {\nentry:\n  \
                    %at = zext i32 %thread to i64\n  %to = getelementptr float, ptr addrspace(1) %out, i64 %at\n  \
                    %v0 = load float, ptr addrspace(1) %to\n  br label %part1\n"
        .to_owned();
    for part in 1..=PARTS {
        let (before, next, row) = (part - 1, part + 1, (part - 1) * THREADS);
        let _ = write!(
            text,
            "part{part}:
  %c{part} = fcmp ogt float %v{before}, 1.0
  br i1 %c{part}, label %more{part}, label %less{part}
more{part}:
  %i{part} = add i64 %at, {row}
  %p{part} = getelementptr float, ptr addrspace(1) %rows, i64 %i{part}
  %l{part} = load float, ptr addrspace(1) %p{part}
  %h{part} = fmul float %v{before}, 0.5
  %a{part} = fadd float %h{part}, %l{part}
  br label %join{part}
less{part}:
  %b{part} = fadd float %v{before}, 0.75
  br label %join{part}
join{part}:
  %v{part} = phi float [ %a{part}, %more{part} ], [ %b{part}, %less{part} ]
  br label %part{next}
"
        );
    }
    let _ = write!(text, "part{}:\n  store float %v{PARTS}, ptr addrspace(1) %to\n  ret void\n}}", PARTS + 1);
    text
}

#[test]
fn hundreds_of_branches_keep_their_values() {
    let kernel = compile(&text(), &[buffer(0), buffer(1), builtin(Builtin::ThreadPositionInGrid, 1)]);
    let mut random = Random::fresh();
    // Between 0 and 2.
    let mut number = || f32::from(u16::try_from(random.below(1 << 14)).unwrap()) / 8192.0;
    let mut out: Vec<f32> = (0..THREADS).map(|_| number()).collect();
    let mut rows: Vec<f32> = (0..THREADS * PARTS).map(|_| number()).collect();
    let expected: Vec<f32> = (0..THREADS)
        .map(|thread| {
            (0..PARTS).fold(out[thread], |value, part| {
                if value > 1.0 { value * 0.5 + rows[part * THREADS + thread] } else { value + 0.75 }
            })
        })
        .collect();
    let mut bindings = Bindings::default();
    bind(&mut bindings, 0, &mut out);
    bind(&mut bindings, 1, &mut rows);
    dispatch(&*kernel, &bindings, [u32::try_from(THREADS).unwrap(), 1, 1], [64, 1, 1]);
    assert_eq!(out, expected);
}
