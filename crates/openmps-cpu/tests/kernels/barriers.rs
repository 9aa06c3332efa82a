//! Threadgroup memory and barriers, with kernels split at barriers and with fibers.

use openmps_engine::{Binding, Bindings, BufferIndex, Builtin};

use crate::harness::{
    Random, bind, bind_u32, buffer, builtin, compile_both_ways, compile_scalar_ways, dispatch, threadgroup,
};

/// Sums `in` over each threadgroup by halving, with a barrier in the loop; the size need not be a power of two.
const REDUCE: &str = "
@shared = internal addrspace(3) global [1024 x i32] undef, align 4
declare void @air.wg.barrier(i32, i32) convergent

define void @k(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %at, i32 %local, i32 %group, i32 %size) {
entry:
  %at.l = zext i32 %at to i64
  %p = getelementptr i32, ptr addrspace(1) %in, i64 %at.l
  %v = load i32, ptr addrspace(1) %p
  %local.l = zext i32 %local to i64
  %mine = getelementptr [1024 x i32], ptr addrspace(3) @shared, i64 0, i64 %local.l
  store i32 %v, ptr addrspace(3) %mine
  call void @air.wg.barrier(i32 2, i32 1)
  br label %loop
loop:
  %n = phi i32 [ %size, %entry ], [ %half, %next ]
  %n.1 = add i32 %n, 1
  %half = lshr i32 %n.1, 1
  %other = add i32 %local, %half
  %has = icmp ult i32 %other, %n
  br i1 %has, label %add, label %next
add:
  %other.l = zext i32 %other to i64
  %theirs = getelementptr [1024 x i32], ptr addrspace(3) @shared, i64 0, i64 %other.l
  %a = load i32, ptr addrspace(3) %mine
  %b = load i32, ptr addrspace(3) %theirs
  %sum = add i32 %a, %b
  store i32 %sum, ptr addrspace(3) %mine
  br label %next
next:
  call void @air.wg.barrier(i32 2, i32 1)
  %more = icmp ugt i32 %half, 1
  br i1 %more, label %loop, label %done
done:
  %first = icmp eq i32 %local, 0
  br i1 %first, label %write, label %end
write:
  %total = load i32, ptr addrspace(3) @shared
  %group.l = zext i32 %group to i64
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %group.l
  store i32 %total, ptr addrspace(1) %q
  br label %end
end:
  ret void
}";

#[test]
fn reduction_with_barriers_in_a_loop() {
    let mut random = Random::fresh();
    let built_ins = [
        Builtin::ThreadPositionInGrid,
        Builtin::ThreadPositionInThreadgroup,
        Builtin::ThreadgroupPositionInGrid,
        Builtin::ThreadsPerThreadgroup,
    ];
    let mut kinds = vec![buffer(0), buffer(1)];
    kinds.extend(built_ins.map(|which| builtin(which, 1)));
    let kernels = compile_both_ways(REDUCE, &kinds);
    assert!(kernels.iter().all(|kernel| kernel.properties().static_threadgroup_memory_length == 4096));
    for group in [1_usize, 2, 31, 33, 256, 1000, 1024] {
        let count = group * 7 + 1 + random.below(1000) as usize;
        let mut input: Vec<u32> = (0..count).map(|_| random.bits32()).collect();
        let sum = |chunk: &[u32]| chunk.iter().copied().fold(0_u32, u32::wrapping_add);
        let expected: Vec<u32> = input.chunks(group).map(sum).collect();
        for kernel in &kernels {
            let mut output = vec![0_u32; count.div_ceil(group)];
            let mut bindings = Bindings::default();
            bind(&mut bindings, 0, &mut output);
            bind(&mut bindings, 1, &mut input);
            let (threads, size) = (u32::try_from(count).unwrap(), u32::try_from(group).unwrap());
            dispatch(&**kernel, &bindings, [threads, 1, 1], [size, 1, 1]);
            assert_eq!(output, expected, "{count} threads in groups of {group}");
        }
    }
}

/// Threads of odd number leave at once; the others exchange through threadgroup memory.
const EARLY_RETURN: &str = "
declare void @air.wg.barrier(i32, i32) convergent

define void @k(ptr addrspace(1) %out, ptr addrspace(3) %shared, i32 %local, i32 %size) {
entry:
  %odd = and i32 %local, 1
  %leave = icmp eq i32 %odd, 1
  br i1 %leave, label %end, label %stay
stay:
  %local.l = zext i32 %local to i64
  %mine = getelementptr i32, ptr addrspace(3) %shared, i64 %local.l
  store i32 %local, ptr addrspace(3) %mine
  call void @air.wg.barrier(i32 2, i32 1)
  %next = add i32 %local, 2
  %wrapped = urem i32 %next, %size
  %wrapped.l = zext i32 %wrapped to i64
  %theirs = getelementptr i32, ptr addrspace(3) %shared, i64 %wrapped.l
  %v = load i32, ptr addrspace(3) %theirs
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %local.l
  store i32 %v, ptr addrspace(1) %q
  br label %end
end:
  ret void
}";

#[test]
fn threads_that_returned_are_not_waited_for() {
    let sizes = [Builtin::ThreadPositionInThreadgroup, Builtin::ThreadsPerThreadgroup];
    let [local, size] = sizes.map(|which| builtin(which, 1));
    let kernels = compile_both_ways(EARLY_RETURN, &[buffer(0), threadgroup(0), local, size]);
    for (threads, kernel) in [2_u32, 34, 256, 1024].into_iter().flat_map(|n| kernels.iter().map(move |it| (n, it))) {
        let mut output = vec![u32::MAX; threads as usize];
        let mut bindings = Bindings::default();
        bind(&mut bindings, 0, &mut output);
        bindings.set(BufferIndex(0), Binding::ThreadgroupMemory { size_bytes: 4 * threads });
        dispatch(&**kernel, &bindings, [threads, 1, 1], [threads, 1, 1]);
        for (thread, &value) in (0..threads).zip(&output) {
            let expected = if thread % 2 == 1 { u32::MAX } else { (thread + 2) % threads };
            assert_eq!(value, expected, "thread {thread} of {threads}");
        }
    }
}

/// Lower and upper half wait at different barriers, which no conforming kernel does: it must still end.
const DIFFERENT_BARRIERS: &str = "
declare void @air.wg.barrier(i32, i32) convergent

define void @k(ptr addrspace(1) %out, i32 %local) {
entry:
  %low = icmp ult i32 %local, 20
  br i1 %low, label %a, label %b
a:
  call void @air.wg.barrier(i32 2, i32 1)
  br label %join
b:
  call void @air.wg.barrier(i32 2, i32 1)
  call void @air.wg.barrier(i32 2, i32 1)
  br label %join
join:
  %l = zext i32 %local to i64
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %l
  store i32 1, ptr addrspace(1) %q
  ret void
}";

#[test]
fn divergent_barriers_do_not_hang() {
    for kernel in compile_both_ways(DIFFERENT_BARRIERS, &[buffer(0), builtin(Builtin::ThreadPositionInThreadgroup, 1)])
    {
        let mut output = vec![0_u32; 100];
        let mut bindings = Bindings::default();
        bind(&mut bindings, 0, &mut output);
        dispatch(&*kernel, &bindings, [100, 1, 1], [100, 1, 1]);
        assert_eq!(output, vec![1; 100]);
    }
}

/// Each thread fills a private array of 40 KiB, waits, and sums it: stacks must be large enough and keep their contents.
const PRIVATE_ARRAY: &str = "
declare void @air.wg.barrier(i32, i32) convergent

define void @k(ptr addrspace(1) %out, ptr addrspace(2) %n, i32 %local) {
entry:
  %array = alloca [10240 x i32], align 4
  %count = load i32, ptr addrspace(2) %n
  br label %fill
fill:
  %i = phi i32 [ 0, %entry ], [ %i.1, %fill ]
  %i.l = zext i32 %i to i64
  %p = getelementptr [10240 x i32], ptr %array, i64 0, i64 %i.l
  %x = xor i32 %i, %local
  store volatile i32 %x, ptr %p
  %i.1 = add i32 %i, 1
  %more = icmp ult i32 %i.1, %count
  br i1 %more, label %fill, label %wait
wait:
  call void @air.wg.barrier(i32 2, i32 1)
  br label %sum
sum:
  %j = phi i32 [ 0, %wait ], [ %j.1, %sum ]
  %s = phi i32 [ 0, %wait ], [ %s.1, %sum ]
  %j.l = zext i32 %j to i64
  %q = getelementptr [10240 x i32], ptr %array, i64 0, i64 %j.l
  %v = load volatile i32, ptr %q
  %s.1 = add i32 %s, %v
  %j.1 = add i32 %j, 1
  %again = icmp ult i32 %j.1, %count
  br i1 %again, label %sum, label %done
done:
  %l = zext i32 %local to i64
  %o = getelementptr i32, ptr addrspace(1) %out, i64 %l
  store i32 %s.1, ptr addrspace(1) %o
  ret void
}";

#[test]
fn large_private_arrays_survive_barriers() {
    let kinds = [buffer(0), buffer(1), builtin(Builtin::ThreadPositionInThreadgroup, 1)];
    for kernel in compile_both_ways(PRIVATE_ARRAY, &kinds) {
        let mut output = vec![0_u32; 64];
        let mut bindings = Bindings::default();
        bind(&mut bindings, 0, &mut output);
        bind_u32(&mut bindings, 1, 10240);
        dispatch(&*kernel, &bindings, [64, 1, 1], [64, 1, 1]);
        let expected: Vec<u32> = (0..64).map(|thread| (0..10240_u32).map(|i| i ^ thread).sum()).collect();
        assert_eq!(output, expected);
    }
}

/// Every thread waits as often as its index modulo 7 says, and counts the threads that have not ended before each turn: threads
/// leave a loop with a barrier at different times, which ends for all.
const UNEQUAL_LOOPS: &str = "
@arrived = internal addrspace(3) global i32 undef, align 4
declare void @air.wg.barrier(i32, i32) convergent
declare i32 @air.atomic.local.add.u.i32(ptr addrspace(3), i32, i32, i32, i1)

define void @k(ptr addrspace(1) %out, i32 %local) {
entry:
  %turns = urem i32 %local, 7
  store i32 0, ptr addrspace(3) @arrived
  call void @air.wg.barrier(i32 2, i32 1)
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %next, %body ]
  %more = icmp ult i32 %i, %turns
  br i1 %more, label %body, label %end
body:
  %before = call i32 @air.atomic.local.add.u.i32(ptr addrspace(3) @arrived, i32 1, i32 0, i32 1, i1 true)
  call void @air.wg.barrier(i32 2, i32 1)
  %next = add i32 %i, 1
  br label %head
end:
  %seen = load i32, ptr addrspace(3) @arrived
  %l = zext i32 %local to i64
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %l
  store i32 %seen, ptr addrspace(1) %q
  ret void
}";

#[test]
fn a_round_ends_when_every_live_thread_has_arrived() {
    for kernel in compile_scalar_ways(UNEQUAL_LOOPS, &[buffer(0), builtin(Builtin::ThreadPositionInThreadgroup, 1)]) {
        let mut output = vec![0_u32; 70];
        let mut bindings = Bindings::default();
        bind(&mut bindings, 0, &mut output);
        dispatch(&*kernel, &bindings, [70, 1, 1], [70, 1, 1]);
        for (thread, seen) in (0..70_u32).zip(output) {
            // In round i the 10 threads of each remainder above i arrive. A thread that leaves after its own turns sees all
            // rounds before, and of the next one the threads that come before it.
            let turns = thread % 7;
            let rounds: u32 = (0..turns).map(|round| 10 * (6 - round)).sum();
            let earlier = (0..thread).filter(|other| other % 7 > turns).count();
            assert_eq!(seen, rounds + u32::try_from(earlier).unwrap(), "thread {thread}");
        }
    }
}

/// Nested loops with barriers in both and in a branch that is the same for all; threads pass words around through two arrays.
const NESTED: &str = "
@ring = internal addrspace(3) global [1024 x i32] undef, align 4
declare void @air.wg.barrier(i32, i32) convergent

define void @k(ptr addrspace(1) %out, ptr addrspace(2) %turns.at, <3 x i32> %place, i32 %index, <3 x i32> %size) {
entry:
  %turns = load i32, ptr addrspace(2) %turns.at
  %x = extractelement <3 x i32> %place, i32 0
  %y = extractelement <3 x i32> %place, i32 1
  %z = extractelement <3 x i32> %place, i32 2
  %sx = extractelement <3 x i32> %size, i32 0
  %sy = extractelement <3 x i32> %size, i32 1
  %sz = extractelement <3 x i32> %size, i32 2
  %sxy = mul i32 %sx, %sy
  %count = mul i32 %sxy, %sz
  %x.y = mul i32 %y, 100
  %x.z = mul i32 %z, 10000
  %xy = add i32 %x, %x.y
  %xyz = add i32 %xy, %x.z
  %index.l = zext i32 %index to i64
  %mine = getelementptr [1024 x i32], ptr addrspace(3) @ring, i64 0, i64 %index.l
  %next = add i32 %index, 1
  %wrapped = urem i32 %next, %count
  %wrapped.l = zext i32 %wrapped to i64
  %theirs = getelementptr [1024 x i32], ptr addrspace(3) @ring, i64 0, i64 %wrapped.l
  br label %outer
outer:
  %i = phi i32 [ 0, %entry ], [ %i.1, %outer.end ]
  %a = phi i32 [ %xyz, %entry ], [ %b.end, %outer.end ]
  %i.odd = and i32 %i, 1
  %odd = icmp eq i32 %i.odd, 1
  br i1 %odd, label %branch, label %inner.start
branch:
  store i32 %a, ptr addrspace(3) %mine
  call void @air.wg.barrier(i32 2, i32 1)
  %t = load i32, ptr addrspace(3) %theirs
  %t.3 = mul i32 %t, 3
  call void @air.wg.barrier(i32 2, i32 1)
  br label %inner.start
inner.start:
  %a.in = phi i32 [ %a, %outer ], [ %t.3, %branch ]
  br label %inner
inner:
  %j = phi i32 [ 0, %inner.start ], [ %j.1, %inner ]
  %b = phi i32 [ %a.in, %inner.start ], [ %b.1, %inner ]
  store i32 %b, ptr addrspace(3) %mine
  call void @air.wg.barrier(i32 2, i32 1)
  %u = load i32, ptr addrspace(3) %theirs
  %b.1 = add i32 %u, %index
  call void @air.wg.barrier(i32 2, i32 1)
  %j.1 = add i32 %j, 1
  %again = icmp ule i32 %j.1, %i
  br i1 %again, label %inner, label %outer.end
outer.end:
  %b.end = phi i32 [ %b.1, %inner ]
  %i.1 = add i32 %i, 1
  %more = icmp ult i32 %i.1, %turns
  br i1 %more, label %outer, label %end
end:
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %index.l
  store i32 %b.end, ptr addrspace(1) %q
  ret void
}";

/// The words that [`NESTED`] computes.
fn nested_words(turns: u32, [sx, sy, sz]: [u32; 3]) -> Vec<u32> {
    let positions = (0..sz).flat_map(|z| (0..sy).flat_map(move |y| (0..sx).map(move |x| x + 100 * y + 10000 * z)));
    let mut words: Vec<u32> = positions.collect();
    let turned = |words: &[u32]| (0..words.len()).map(|i| words[(i + 1) % words.len()]).collect::<Vec<u32>>();
    for i in 0..turns {
        if i % 2 == 1 {
            words = turned(&words).iter().map(|word| word.wrapping_mul(3)).collect();
        }
        for _ in 0..=i {
            words = (0..).zip(turned(&words)).map(|(index, word)| word.wrapping_add(index)).collect();
        }
    }
    words
}

#[test]
fn barriers_in_nested_loops_and_uniform_branches() {
    let mut random = Random::fresh();
    let [place, size] =
        [Builtin::ThreadPositionInThreadgroup, Builtin::ThreadsPerThreadgroup].map(|which| builtin(which, 3));
    let kinds = [buffer(0), buffer(1), place, builtin(Builtin::ThreadIndexInThreadgroup, 1), size];
    let kernels = compile_both_ways(NESTED, &kinds);
    for _ in 0..12 {
        let size = [1 + random.below(16), 1 + random.below(8), 1 + random.below(8)];
        let turns = 1 + random.below(5);
        let expected = nested_words(turns, size);
        for kernel in &kernels {
            let mut output = vec![0_u32; expected.len()];
            let mut bindings = Bindings::default();
            bind(&mut bindings, 0, &mut output);
            bind_u32(&mut bindings, 1, turns);
            dispatch(&**kernel, &bindings, size, size);
            assert_eq!(output, expected, "{turns} turns of {size:?} threads");
        }
    }
}

/// A function that calls itself waits, so that it cannot be split; and one asks for its lane without exchanging anything.
const RECURSION: &str = "
declare void @air.wg.barrier(i32, i32) convergent
declare i32 @air.get_thread_index_in_simdgroup.i32()

define internal i32 @f(i32 %n) noinline {
  %lane = call i32 @air.get_thread_index_in_simdgroup.i32()
  %ends = icmp eq i32 %n, 0
  br i1 %ends, label %end, label %more
more:
  call void @air.wg.barrier(i32 2, i32 1)
  %n.1 = sub i32 %n, 1
  %rest = call i32 @f(i32 %n.1)
  %sum = add i32 %rest, %lane
  ret i32 %sum
end:
  ret i32 %lane
}

define void @k(ptr addrspace(1) %out, ptr addrspace(2) %n.at, i32 %local) {
  %n = load i32, ptr addrspace(2) %n.at
  %v = call i32 @f(i32 %n)
  %l = zext i32 %local to i64
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %l
  store i32 %v, ptr addrspace(1) %q
  ret void
}";

#[test]
fn functions_that_call_themselves_may_wait() {
    let kinds = [buffer(0), buffer(1), builtin(Builtin::ThreadPositionInThreadgroup, 1)];
    // Without the barrier only the lane is left, with the inner call replaced nothing calls itself.
    let lane_only = RECURSION
        .replace("  call void @air.wg.barrier(i32 2, i32 1)\n", "")
        .replace("call i32 @f(i32 %n.1)", "add i32 0, 0");
    for (text, factor) in [(RECURSION, 4), (&lane_only, 1)] {
        for kernel in compile_both_ways(text, &kinds) {
            let mut output = vec![0_u32; 50];
            let mut bindings = Bindings::default();
            bind(&mut bindings, 0, &mut output);
            bind_u32(&mut bindings, 1, 3);
            dispatch(&*kernel, &bindings, [50, 1, 1], [50, 1, 1]);
            let expected: Vec<u32> = (0..50).map(|thread| factor * (thread % 32)).collect();
            assert_eq!(output, expected);
        }
    }
}
