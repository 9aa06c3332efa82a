//! Atomics under contention between workers.

use openmps_engine::{Bindings, Builtin};

use crate::harness::{Random, bind, buffer, builtin, compile, dispatch};

/// `body` sees `%v` (the thread's input), `%counter` and `%l` (the thread's number).
fn text(declarations: &str, body: &str) -> String {
    format!(
        "{declarations}
define void @k(ptr addrspace(1) %counter, ptr addrspace(1) %in, ptr addrspace(1) %old, i32 %at) {{
entry:
  %l = zext i32 %at to i64
  %p = getelementptr i32, ptr addrspace(1) %in, i64 %l
  %v = load i32, ptr addrspace(1) %p
  %slot = getelementptr i32, ptr addrspace(1) %old, i64 %l
{body}
}}"
    )
}

fn run(text: &str, counter: &mut [u64; 1], input: &mut [u32]) -> Vec<u32> {
    let kinds = [buffer(0), buffer(1), buffer(2), builtin(Builtin::ThreadPositionInGrid, 1)];
    let kernel = compile(text, &kinds);
    let mut old = vec![0_u32; input.len()];
    let threads = u32::try_from(input.len()).unwrap();
    let mut bindings = Bindings::default();
    bind(&mut bindings, 0, counter);
    bind(&mut bindings, 1, input);
    bind(&mut bindings, 2, &mut old);
    dispatch(&*kernel, &bindings, [threads, 1, 1], [64, 1, 1]);
    old
}

const COUNT: usize = 200_000;

#[test]
fn tickets_are_unique() {
    let text = text(
        "declare i32 @air.atomic.global.add.u.i32(ptr addrspace(1), i32, i32, i32, i1)",
        "  %t = call i32 @air.atomic.global.add.u.i32(ptr addrspace(1) %counter, i32 1, i32 0, i32 2, i1 true)
  store i32 %t, ptr addrspace(1) %slot
  ret void",
    );
    let mut counter = [0];
    let mut tickets = run(&text, &mut counter, &mut vec![0; COUNT]);
    tickets.sort_unstable();
    assert_eq!(counter, [COUNT as u64]);
    assert!(tickets.iter().zip(0..).all(|(&ticket, expected)| ticket == expected));
}

#[test]
fn float_add_and_min_max() {
    let mut random = Random::fresh();
    let add = text(
        "declare float @air.atomic.global.add.f32(ptr addrspace(1), float, i32, i32, i1)",
        "  %f = uitofp i32 %v to float
  %t = call float @air.atomic.global.add.f32(ptr addrspace(1) %counter, float %f, i32 0, i32 2, i1 true)
  ret void",
    );
    let mut input: Vec<u32> = (0..COUNT).map(|_| random.below(8)).collect();
    let mut counter = [0];
    run(&add, &mut counter, &mut input);
    // Small integers: every partial sum is exact in float.
    let bits = u32::try_from(counter[0]).unwrap();
    assert_eq!(f32::from_bits(bits) as f64, input.iter().map(|&v| f64::from(v)).sum::<f64>());

    for (name, pick) in [("min", u32::min as fn(u32, u32) -> u32), ("max", u32::max)] {
        let body = format!(
            "  %w = zext i32 %v to i64
  call void @air.atomic.global.{name}.u.i64(ptr addrspace(1) %counter, i64 %w, i32 0, i32 2, i1 true)
  ret void"
        );
        let declaration = format!("declare void @air.atomic.global.{name}.u.i64(ptr addrspace(1), i64, i32, i32, i1)");
        let mut input: Vec<u32> = (0..COUNT).map(|_| random.bits32()).collect();
        let mut counter = [u64::from(input[0])];
        run(&text(&declaration, &body), &mut counter, &mut input);
        assert_eq!(counter[0], u64::from(input.iter().copied().reduce(pick).unwrap()), "{name}");
    }
}

#[test]
fn compare_exchange_loops_lose_nothing() {
    let body = "  %expected = alloca i32
  %first = call i32 @air.atomic.global.load.i32(ptr addrspace(1) %counter, i32 0, i32 2, i1 true)
  store i32 %first, ptr %expected
  br label %loop
loop:
  %before = load i32, ptr %expected
  %desired = add i32 %before, %v
  %old.v = call i32 @air.atomic.global.cmpxchg.weak.i32(ptr addrspace(1) %counter, ptr %expected, i32 %desired, i32 0, i32 0, i32 2, i1 true)
  %done = icmp eq i32 %old.v, %before
  br i1 %done, label %end, label %loop
end:
  ret void";
    let declarations = "declare i32 @air.atomic.global.load.i32(ptr addrspace(1), i32, i32, i1)
declare i32 @air.atomic.global.cmpxchg.weak.i32(ptr addrspace(1), ptr, i32, i32, i32, i32, i1)";
    let mut random = Random::fresh();
    let mut input: Vec<u32> = (0..COUNT).map(|_| random.below(1000)).collect();
    let mut counter = [0];
    run(&text(declarations, body), &mut counter, &mut input);
    assert_eq!(counter[0], input.iter().map(|&v| u64::from(v)).sum::<u64>());
}

/// An operation, of LLVM's name of its type, and what it makes of bits that were there and the input.
const ON_NEIGHBOURS: [(&str, &str, fn(u64, u32) -> u64); 8] = [
    ("add.u", "i32", |old, v| u64::from(low(old).wrapping_add(v))),
    ("sub.s", "i32", |old, v| u64::from(low(old).wrapping_sub(v))),
    ("xor.u", "i32", |old, v| u64::from(low(old) ^ v)),
    ("max.s", "i32", |old, v| u64::from(low(old).cast_signed().max(v.cast_signed()).cast_unsigned())),
    ("min.u", "i32", |old, v| u64::from(low(old).min(v))),
    // Small integers: every partial sum is exact in float.
    ("add", "f32", |old, v| u64::from((f32::from_bits(low(old)) + (v & 7) as f32).to_bits())),
    ("max.u", "i64", |old, v| old.max(u64::from(v) << 16)),
    ("min.u", "i64", |old, v| old.min(u64::from(v) << 16)),
];

fn low(bits: u64) -> u32 {
    u32::try_from(bits & u64::from(u32::MAX)).unwrap()
}

/// SIMD-groups on several cores combine values into the same 96 elements, 32 neighbours at once; the last has 3 threads.
#[test]
fn neighbours_lose_nothing_wherever_they_begin() {
    const ELEMENTS: u32 = 96;
    let mut random = Random::fresh();
    for (operation, name, combine) in ON_NEIGHBOURS {
        let ty = if name == "f32" { "float" } else { name };
        let value = match name {
            "f32" => "%small = and i32 %v, 7\n  %w = uitofp i32 %small to float",
            "i64" => "%wide = zext i32 %v to i64\n  %w = shl i64 %wide, 16",
            _ => "%w = add i32 %v, 0",
        };
        // By words of 16 bytes, and where no element begins one.
        for begin in 0..4 {
            let text = text(
                &format!("declare {ty} @air.atomic.global.{operation}.{name}(ptr addrspace(1), {ty}, i32, i32, i1)"),
                &format!(
                    "  {value}
  %group = lshr i32 %at, 5
  %part = urem i32 %group, 3
  %lane = and i32 %at, 31
  %start = mul i32 %part, 32
  %place = add i32 %start, %lane
  %number = zext i32 %place to i64
  %element = getelementptr {ty}, ptr addrspace(1) %counter, i64 %number
  %moved = getelementptr {ty}, ptr addrspace(1) %element, i64 {begin}
  %t = call {ty} @air.atomic.global.{operation}.{name}(ptr addrspace(1) %moved, {ty} %w, i32 0, i32 2, i1 true)
  ret void"
                ),
            );
            let threads = 20_003;
            let mut input: Vec<u32> = (0..threads).map(|_| random.bits32()).collect();
            let start: Vec<u64> = (0..ELEMENTS).map(|_| if name == "f32" { 0 } else { random.bits() >> 8 }).collect();
            let is_long = name == "i64";
            let mut memory = vec![0_u64; 112];
            for (at, &bits) in (begin..).zip(&start) {
                set_element(&mut memory, is_long, at, bits);
            }
            let kinds = [buffer(0), buffer(1), buffer(2), builtin(Builtin::ThreadPositionInGrid, 1)];
            let kernel = compile(&text, &kinds);
            let mut expected = memory.clone();
            for (thread, &v) in input.iter().enumerate() {
                let at = begin + thread % ELEMENTS as usize;
                let bits = combine(element(&expected, is_long, at), v);
                set_element(&mut expected, is_long, at, bits);
            }
            let mut bindings = Bindings::default();
            bind(&mut bindings, 0, &mut memory);
            bind(&mut bindings, 1, &mut input);
            bind(&mut bindings, 2, &mut [0_u32]);
            dispatch(&*kernel, &bindings, [threads, 1, 1], [64, 1, 1]);
            assert_eq!(memory, expected, "{operation}.{name} from element {begin}");
        }
    }
}

fn element(memory: &[u64], is_long: bool, at: usize) -> u64 {
    match is_long {
        true => memory[at],
        false => memory[at / 2] >> (at % 2 * 32) & u64::from(u32::MAX),
    }
}

fn set_element(memory: &mut [u64], is_long: bool, at: usize, bits: u64) {
    match is_long {
        true => memory[at] = bits,
        false => {
            let shift = at % 2 * 32;
            let rest = memory[at / 2] & !(u64::from(u32::MAX) << shift);
            memory[at / 2] = rest | (bits & u64::from(u32::MAX)) << shift;
        }
    }
}
