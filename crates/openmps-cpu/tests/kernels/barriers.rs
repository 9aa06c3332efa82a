//! Threadgroup memory and barriers.

use openmps_engine::{Binding, Bindings, BufferIndex, Builtin};

use crate::harness::{Random, bind, bind_u32, buffer, builtin, compile, dispatch, threadgroup};

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
    let kernel = compile(REDUCE, &kinds);
    assert_eq!(kernel.properties().static_threadgroup_memory_length, 4096);
    for group in [1_usize, 2, 31, 33, 256, 1000, 1024] {
        let count = group * 7 + 1 + random.below(1000) as usize;
        let mut input: Vec<u32> = (0..count).map(|_| random.bits32()).collect();
        let mut output = vec![0_u32; count.div_ceil(group)];
        let mut bindings = Bindings::default();
        bind(&mut bindings, 0, &mut output);
        bind(&mut bindings, 1, &mut input);
        let (threads, size) = (u32::try_from(count).unwrap(), u32::try_from(group).unwrap());
        dispatch(&*kernel, &bindings, [threads, 1, 1], [size, 1, 1]);
        let sum = |chunk: &[u32]| chunk.iter().copied().fold(0_u32, u32::wrapping_add);
        let expected: Vec<u32> = input.chunks(group).map(sum).collect();
        assert_eq!(output, expected, "{count} threads in groups of {group}");
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
    let kernel = compile(EARLY_RETURN, &[buffer(0), threadgroup(0), local, size]);
    for threads in [2_u32, 34, 256, 1024] {
        let mut output = vec![u32::MAX; threads as usize];
        let mut bindings = Bindings::default();
        bind(&mut bindings, 0, &mut output);
        bindings.set(BufferIndex(0), Binding::ThreadgroupMemory { size_bytes: 4 * threads });
        dispatch(&*kernel, &bindings, [threads, 1, 1], [threads, 1, 1]);
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
    let kernel = compile(DIFFERENT_BARRIERS, &[buffer(0), builtin(Builtin::ThreadPositionInThreadgroup, 1)]);
    let mut output = vec![0_u32; 100];
    let mut bindings = Bindings::default();
    bind(&mut bindings, 0, &mut output);
    dispatch(&*kernel, &bindings, [100, 1, 1], [100, 1, 1]);
    assert_eq!(output, vec![1; 100]);
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
    let kernel = compile(PRIVATE_ARRAY, &[buffer(0), buffer(1), builtin(Builtin::ThreadPositionInThreadgroup, 1)]);
    let mut output = vec![0_u32; 64];
    let mut bindings = Bindings::default();
    bind(&mut bindings, 0, &mut output);
    bind_u32(&mut bindings, 1, 10240);
    dispatch(&*kernel, &bindings, [64, 1, 1], [64, 1, 1]);
    let expected: Vec<u32> = (0..64).map(|thread| (0..10240_u32).map(|i| i ^ thread).sum()).collect();
    assert_eq!(output, expected);
}
