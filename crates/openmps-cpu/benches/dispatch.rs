//! Times of code generation and dispatch: `cargo bench -p openmps-cpu`. Prints minimum and median in microseconds, and for
//! `saxpy` the ratio to the same loop in Rust. Results are checked before they are timed.
#![expect(clippy::print_stdout, reason = "a benchmark prints its result")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use openmps_cpu::{CodeGenerator, CpuEngine, LlvmCodeGenerator, thread_count};
use openmps_engine::{
    AddressSpace, Argument, ArgumentKind, Binding, Bindings, BufferAccess, BufferIndex, Builtin, BuiltinType, Engine,
    EngineOptions, Grid, KernelSignature, Scalar, VerifiedAir,
};
use openmps_llvm::Context;

const EMPTY: &str = "define void @k() {
  ret void
}";

const SAXPY: &str = "define void @k(ptr addrspace(1) %y, ptr addrspace(1) %x, i32 %id) {
  %i = zext i32 %id to i64
  %px = getelementptr float, ptr addrspace(1) %x, i64 %i
  %vx = load float, ptr addrspace(1) %px
  %py = getelementptr float, ptr addrspace(1) %y, i64 %i
  %vy = load float, ptr addrspace(1) %py
  %m = fmul float %vx, 2.0
  %s = fadd float %m, %vy
  store float %s, ptr addrspace(1) %py
  ret void
}";

/// 1024 threads that wait ten times.
const BARRIERS: &str = "declare void @air.wg.barrier(i32, i32) convergent
define void @k() {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %n, %loop ]
  call void @air.wg.barrier(i32 2, i32 1)
  %n = add i32 %i, 1
  %more = icmp ult i32 %n, 10
  br i1 %more, label %loop, label %end
end:
  ret void
}";

fn air(text: &str) -> VerifiedAir {
    let context = Context::new();
    let module = context.parse_ir(text).expect("valid text");
    VerifiedAir::from_verifier(module.write_bitcode().as_bytes())
}

fn signature(kinds: Vec<ArgumentKind>) -> KernelSignature {
    KernelSignature::new("k", kinds.into_iter().map(|kind| Argument::new(kind, "", "")).collect())
}

fn buffer(index: u32) -> ArgumentKind {
    let (address_space, access) = (AddressSpace::Device, BufferAccess::ReadWrite);
    ArgumentKind::Buffer { index: BufferIndex(index), address_space, access, size_bytes_min: None }
}

/// Minimum and median of `turns` calls, in microseconds.
fn time(turns: usize, mut work: impl FnMut()) -> (f64, f64) {
    work();
    let mut times: Vec<f64> = (0..turns)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (times[0], times[turns / 2])
}

fn report(name: &str, (minimum, median): (f64, f64)) {
    println!("{name:<44} min {minimum:>10.3} us   median {median:>10.3} us");
}

fn main() {
    println!("threads: {}", thread_count());
    let options = EngineOptions::default();
    let position = ArgumentKind::Builtin {
        builtin: Builtin::ThreadPositionInGrid,
        ty: BuiltinType { scalar: Scalar::U32, lanes: 1 },
    };
    let saxpy_signature = signature(vec![buffer(0), buffer(1), position]);
    for (name, text, signature) in [
        ("empty", EMPTY, signature(vec![])),
        ("saxpy", SAXPY, saxpy_signature.clone()),
        ("barriers", BARRIERS, signature(vec![])),
    ] {
        let air = air(text);
        let generate = || {
            black_box(LlvmCodeGenerator.generate(&air, &signature, &options).expect("generates"));
        };
        report(&format!("code generation, {name}"), time(30, generate));
    }

    let engine = CpuEngine::new(Arc::new(LlvmCodeGenerator));
    let compile =
        |text: &str, signature: &KernelSignature| engine.compile(&air(text), signature, &options).expect("compiles");
    let empty = compile(EMPTY, &signature(vec![]));
    let done = || Box::new(|result: Result<(), _>| assert_eq!(result, Ok(())));
    for threads in [1, 1024, 1 << 20] {
        let grid = Grid { threads: [threads, 1, 1], group: [threads.min(1024), 1, 1] };
        let dispatch = || empty.dispatch(&Bindings::default(), &grid, done());
        report(&format!("dispatch, empty kernel, {threads} threads"), time(2000, dispatch));
    }
    let barriers = compile(BARRIERS, &signature(vec![]));
    let grid = Grid { threads: [1024, 1, 1], group: [1024, 1, 1] };
    report("dispatch, 1024 threads, 10 barriers", time(200, || barriers.dispatch(&Bindings::default(), &grid, done())));

    let saxpy = compile(SAXPY, &saxpy_signature);
    for count in [1_usize << 10, 1 << 16, 1 << 22] {
        let x = vec![1.0_f32; count];
        let mut y = vec![0.0_f32; count];
        let size_bytes = count as u64 * 4;
        let mut bindings = Bindings::default();
        let address = y.as_mut_ptr().expose_provenance() as u64;
        bindings.set(BufferIndex(0), Binding::Buffer { address, size_bytes });
        let address = x.as_ptr().expose_provenance() as u64;
        bindings.set(BufferIndex(1), Binding::Buffer { address, size_bytes });
        let grid = Grid { threads: [u32::try_from(count).expect("small"), 1, 1], group: [256, 1, 1] };
        saxpy.dispatch(&bindings, &grid, done());
        assert_eq!(y, vec![2.0; count]);
        let ours = time(200, || saxpy.dispatch(&bindings, &grid, done()));
        let rust = time(200, || {
            for (y, x) in black_box(&mut y).iter_mut().zip(black_box(&x)) {
                *y += 2.0 * x;
            }
        });
        report(&format!("saxpy, {count} floats"), ours);
        println!("{:<44} {:.2} times one Rust thread (median)", "", ours.1 / rust.1);
    }
}
