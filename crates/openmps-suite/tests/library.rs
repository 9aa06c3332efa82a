//! Every function of the Metal standard library that AIR has is called from Metal source text, in every type and width, and
//! compared with the reference of the intrinsic table or with a formula; none may be forgotten.
#![expect(clippy::print_stdout, reason = "seeds and counts are for whoever reads a test's output")]

use std::collections::BTreeSet;

use openmps_air::element::{Bf16, Element, F16, F32, Format as _};
use openmps_air::intrinsics::{Operation, Row, rows as table};
use openmps_engine::CompileOptions;
use openmps_suite::library::{Check, batch, formulas, reached, rows};
use openmps_suite::machine::{Launch, Program, Random};

fn fresh() -> Random {
    let seed = Random::fresh_seed();
    println!("seed {seed}");
    Random::new(seed)
}

/// Runs `checks`, which must agree, and returns the rows of the table that they called.
fn run(checks: &[Check], random: &mut Random) -> BTreeSet<u32> {
    let outcome = batch::run(checks, random);
    println!("{} checks", checks.len());
    let failures = &outcome.failures;
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), checks.len(), failures.join("\n"));
    outcome.rows
}

/// Runs the checks of the table's rows for which `wanted` is true; every one of them that source text can call must be called.
fn check_rows(wanted: fn(&Row) -> bool) {
    let mut random = fresh();
    let rows_wanted: Vec<&'static Row> = table().iter().filter(|row| wanted(row)).collect();
    let checks: Vec<Check> = rows_wanted.iter().flat_map(|row| rows::checks(row, &mut random)).collect();
    let called = run(&checks, &mut random);
    all_called(&rows_wanted, &called);
}

/// Every row that source text can call is among `called`.
fn all_called(rows_wanted: &[&'static Row], called: &BTreeSet<u32>) {
    let is_forgotten = |row: &&&Row| rows::unreachable_from_source(row).is_none() && !called.contains(&row.index);
    let forgotten: Vec<&str> = rows_wanted.iter().filter(is_forgotten).map(|row| row.name.as_str()).collect();
    assert_eq!(forgotten, Vec::<&str>::new(), "rows that no source calls");
}

#[test]
fn math_functions() {
    check_rows(|row| matches!(row.operation, Operation::Math(_)));
}

#[test]
fn integer_functions() {
    check_rows(|row| matches!(row.operation, Operation::Integer(_)));
}

#[test]
fn conversions() {
    check_rows(|row| matches!(row.operation, Operation::Convert));
}

#[test]
fn simd_functions() {
    check_rows(|row| matches!(row.operation, Operation::Simdgroup(_)));
}

#[test]
fn quad_functions() {
    check_rows(|row| matches!(row.operation, Operation::Quadgroup(_)));
}

#[test]
fn composed_functions() {
    let mut random = fresh();
    let checks = formulas::checks(&mut random);
    run(&checks, &mut random);
}

/// Every family is somebody's: a new one breaks this match and must be given a test.
#[test]
fn every_family_has_a_test() {
    for row in table() {
        let _test = match row.operation {
            Operation::Math(_) => "math_functions",
            Operation::Integer(_) => "integer_functions",
            Operation::Relational(_) => "composed_functions",
            Operation::Convert => "conversions",
            Operation::Simdgroup(_) => "simd_functions",
            Operation::Quadgroup(_) => "quad_functions",
            Operation::Atomic(_) | Operation::Barrier(_) | Operation::Execution(_) => "atomics_barriers_and_lanes",
            Operation::Matrix(_) => "matrices",
            Operation::Tensor(_) => "tests of Metal 4 tensors",
            Operation::Texture(_) => "tests of textures",
        };
    }
}

/// Threads of the test of atomics; 32 of them share a cell.
const ATOMIC_THREADS: u32 = 96;

/// One kernel for each type and address space: cells of every operation, all threads of a threadgroup on them.
fn atomics_source() -> String {
    let mut text = String::from("#include <metal_stdlib>\nusing namespace metal;\n");
    for (scalar, bits) in [("int", "int"), ("uint", "uint"), ("float", "float"), ("ulong", "ulong")] {
        for space in ["device", "threadgroup"] {
            let operations: &[&str] = match scalar {
                "float" => &["fetch_add", "fetch_sub"],
                "ulong" => &["min", "max"],
                _ => &["fetch_add", "fetch_sub", "fetch_min", "fetch_max", "fetch_and", "fetch_or", "fetch_xor"],
            };
            let calls: Vec<String> = operations
                .iter()
                .enumerate()
                .map(|(cell, operation)| {
                    format!("  atomic_{operation}_explicit(cells + {cell}, values[i], memory_order_relaxed);\n")
                })
                .collect();
            let local = if space == "device" {
                "  device atomic<T>* cells = memory;\n".to_owned()
            } else {
                "  threadgroup atomic<T> cells[9];\n  if (i < 9) atomic_store_explicit(cells + i, \
                 atomic_load_explicit(memory + i, memory_order_relaxed), memory_order_relaxed);\n  \
                 threadgroup_barrier(mem_flags::mem_threadgroup);\n"
                    .to_owned()
            };
            text += &format!(
                "namespace {scalar}_{space} {{\ntypedef {bits} T;\n\
                 kernel void {scalar}_{space}_k(device atomic<T>* memory, device const T* values, device T* out,\n\
                 \x20   uint i [[thread_position_in_threadgroup]]) {{\n{local}{calls}\
                 \x20 T expected = atomic_load_explicit(cells + 7, memory_order_relaxed);\n\
                 \x20 while (!atomic_compare_exchange_weak_explicit(cells + 7, &expected, T(expected + 1),\n\
                 \x20        memory_order_relaxed, memory_order_relaxed)) {{}}\n\
                 \x20 out[i] = atomic_exchange_explicit(cells + 8, values[i], memory_order_relaxed);\n\
                 \x20 atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst);\n\
                 \x20 simdgroup_barrier(mem_flags::mem_none);\n\
                 \x20 threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);\n\
                 \x20 if (i < 9) atomic_store_explicit(memory + i, atomic_load_explicit(cells + i, \
                 memory_order_relaxed), memory_order_relaxed);\n}}\n}}\n",
                calls = calls.concat(),
            );
        }
    }
    text += "kernel void lanes(device uint* out, uint i [[thread_position_in_grid]]) {
      out[2 * i] = __metal_get_thread_index_in_simdgroup(uint()) + __metal_get_thread_index_in_simdgroup(ushort());
      out[2 * i + 1] = __metal_get_simdgroup_size(uint()) + __metal_get_simdgroup_size(ushort());
    }";
    text
}

/// The value of every cell after the kernel, from what was there and what the threads brought.
fn cells_after<T: Copy + PartialOrd>(
    cells: &[T],
    values: &[T],
    add: fn(T, T) -> T,
    sub: fn(T, T) -> T,
    bitwise: &[fn(T, T) -> T],
    has_add: bool,
) -> Vec<T> {
    let mut operations: Vec<fn(T, T) -> T> = if has_add { vec![add, sub] } else { Vec::new() };
    operations.extend(bitwise);
    operations.iter().zip(cells).map(|(operation, cell)| values.iter().copied().fold(*cell, *operation)).collect()
}

/// Runs the two kernels of type `T`, named by `scalar`.
fn check_atomics<T: Copy + PartialOrd + std::fmt::Debug>(
    program: &Program,
    scalar: &str,
    cells: Vec<T>,
    mut values: Vec<T>,
    add: fn(T, T) -> T,
    expected: &[T],
    one: T,
) {
    for space in ["device", "threadgroup"] {
        let (mut memory, mut out) = (cells.clone(), values.clone());
        let kernel = program.kernel(&format!("{scalar}_{space}_k"));
        let launch = Launch::new().buffer(&mut memory).buffer(&mut values).buffer(&mut out);
        launch.run(kernel.as_ref(), ATOMIC_THREADS, ATOMIC_THREADS);
        assert_eq!(&memory[..expected.len()], expected, "{scalar} in {space} memory");
        let counted = (0..ATOMIC_THREADS).fold(cells[7], |sum, _| add(sum, one));
        assert_eq!(memory[7], counted, "{scalar} in {space} memory: compare and exchange");
        // Each value was in the cell once: what was there before, and what all threads but the last one brought.
        let sorted = |mut list: Vec<T>| {
            list.sort_by(|x, y| x.partial_cmp(y).expect("no NaN"));
            list
        };
        let seen: Vec<T> = out.iter().copied().chain([memory[8]]).collect();
        let brought: Vec<T> = values.iter().copied().chain([cells[8]]).collect();
        assert_eq!(sorted(seen), sorted(brought), "{scalar} in {space} memory: exchange");
    }
}

#[test]
fn atomics_barriers_and_lanes() {
    let mut random = fresh();
    let program = Program::new(&atomics_source(), &CompileOptions::default());
    let count = ATOMIC_THREADS as usize;
    let mut words = |count: usize| (0..count).map(|_| random.bits32()).collect::<Vec<u32>>();
    let (cells, values) = (words(9), words(count));
    let unsigned: [fn(u32, u32) -> u32; 5] = [u32::min, u32::max, |x, y| x & y, |x, y| x | y, |x, y| x ^ y];
    let expected = cells_after(&cells, &values, u32::wrapping_add, u32::wrapping_sub, &unsigned, true);
    check_atomics(&program, "uint", cells.clone(), values.clone(), u32::wrapping_add, &expected, 1);
    let signed = |list: &[u32]| list.iter().map(|word| word.cast_signed()).collect::<Vec<i32>>();
    let (int_cells, int_values) = (signed(&cells), signed(&values));
    let operations: [fn(i32, i32) -> i32; 5] = [i32::min, i32::max, |x, y| x & y, |x, y| x | y, |x, y| x ^ y];
    let expected = cells_after(&int_cells, &int_values, i32::wrapping_add, i32::wrapping_sub, &operations, true);
    check_atomics(&program, "int", int_cells, int_values, i32::wrapping_add, &expected, 1);
    // Whole numbers of 16 bits: sums of a hundred are exact.
    let floats = |list: &[u32]| list.iter().map(|word| f32::from(word.to_le_bytes()[0])).collect::<Vec<f32>>();
    let (float_cells, float_values) = (floats(&cells), floats(&values));
    let expected = cells_after(&float_cells, &float_values, |x, y| x + y, |x, y| x - y, &[], true);
    check_atomics(&program, "float", float_cells, float_values, |x, y| x + y, &expected, 1.0);
    let longs = |list: &[u32]| list.iter().map(|word| u64::from(*word) << 29).collect::<Vec<u64>>();
    let (long_cells, long_values) = (longs(&cells), longs(&values));
    let expected =
        cells_after(&long_cells, &long_values, u64::wrapping_add, u64::wrapping_sub, &[u64::min, u64::max], false);
    check_atomics(&program, "ulong", long_cells, long_values, u64::wrapping_add, &expected, 1);
    let mut lanes = vec![0_u32; 2 * count];
    Launch::new().buffer(&mut lanes).run(program.kernel("lanes").as_ref(), ATOMIC_THREADS, ATOMIC_THREADS);
    for (thread, pair) in (0..).zip(lanes.chunks(2)) {
        assert_eq!(pair, [2 * (thread % 32), 64], "thread {thread}");
    }
    let is_here = |row: &&'static Row| {
        matches!(row.operation, Operation::Atomic(_) | Operation::Barrier(_) | Operation::Execution(_))
    };
    all_called(&table().iter().filter(is_here).collect::<Vec<_>>(), &reached(&program));
}

/// Matrices of every type: loaded from and stored to both memories, plain and transposed; every combination of a product.
fn matrices_source() -> String {
    let mut text = String::from("#include <metal_stdlib>\nusing namespace metal;\n");
    let types = ["float", "half", "bfloat"];
    for result in types {
        text += &format!(
            "kernel void {result}_k(device const float* in, device {result}* memory, device {result}* out,\n\
             \x20   uint lane [[thread_index_in_simdgroup]]) {{\n\
             \x20 threadgroup {result} shared[64];\n\
             \x20 for (uint i = lane; i < 192; i += 32) memory[i] = {result}(in[i]);\n\
             \x20 for (uint i = lane; i < 64; i += 32) shared[i] = {result}(in[i]);\n\
             \x20 threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);\n\
             \x20 simdgroup_matrix<{result}, 8, 8> m;\n\
             \x20 simdgroup_load(m, memory, 8, ulong2(0, 0), true); simdgroup_store(m, out, 8);\n\
             \x20 simdgroup_load(m, shared, 8); simdgroup_store(m, shared, 8, ulong2(0, 0), true);\n\
             \x20 threadgroup_barrier(mem_flags::mem_threadgroup);\n\
             \x20 for (uint i = lane; i < 64; i += 32) out[64 + i] = shared[i];\n\
             \x20 simdgroup_store(simdgroup_matrix<{result}, 8, 8>({result}(3)), out + 128, 8);\n\
             \x20 simdgroup_store(make_filled_simdgroup_matrix<{result}, 8>({result}(2)), out + 192, 8);\n"
        );
        for (index, (left, right, addend)) in combinations(types).into_iter().enumerate() {
            text += &format!(
                "  {{ simdgroup_matrix<{left}, 8, 8> a; simdgroup_matrix<{right}, 8, 8> b; \
                 simdgroup_matrix<{addend}, 8, 8> c; simdgroup_matrix<{result}, 8, 8> d;\n\
                 \x20   threadgroup {left} as[64]; threadgroup {right} bs[64]; threadgroup {addend} cs[64];\n\
                 \x20   for (uint i = lane; i < 64; i += 32) {{ as[i] = {left}(in[i]); bs[i] = {right}(in[64 + i]); \
                 cs[i] = {addend}(in[128 + i]); }}\n\
                 \x20   simdgroup_barrier(mem_flags::mem_threadgroup);\n\
                 \x20   simdgroup_load(a, as, 8); simdgroup_load(b, bs, 8); simdgroup_load(c, cs, 8);\n\
                 \x20   simdgroup_multiply_accumulate(d, a, b, c); simdgroup_store(d, out + {}, 8); }}\n",
                256 + 64 * index
            );
        }
        text += "}\n";
    }
    text
}

fn combinations(types: [&'static str; 3]) -> Vec<(&'static str, &'static str, &'static str)> {
    let pairs = types.into_iter().flat_map(|left| types.map(|right| (left, right)));
    pairs.flat_map(|(left, right)| types.map(|addend| (left, right, addend))).collect()
}

#[test]
fn matrices() {
    let mut random = fresh();
    let program = Program::new(&matrices_source(), &CompileOptions::default());
    // Small whole numbers: every sum is exact in every type.
    let input: Vec<f64> = (0..192).map(|_| f64::from(random.below(5)) - 2.0).collect();
    let (a, b, c) = (&input[..64], &input[64..128], &input[128..]);
    let transposed = |m: &[f64]| (0..64).map(|i| m[i % 8 * 8 + i / 8]).collect::<Vec<f64>>();
    let diagonal: Vec<f64> = (0..64).map(|i| if i % 9 == 0 { 3.0 } else { 0.0 }).collect();
    let product: Vec<f64> =
        (0..64).map(|i| c[i] + (0..8).map(|k| a[i / 8 * 8 + k] * b[k * 8 + i % 8]).sum::<f64>()).collect();
    let mut expected = [transposed(a), transposed(a), diagonal, vec![2.0; 64]].concat();
    (0..27).for_each(|_| expected.extend(&product));
    #[expect(clippy::cast_possible_truncation, reason = "small whole numbers")]
    let mut floats: Vec<f32> = input.iter().map(|value| *value as f32).collect();
    for (name, element) in [("float", Element::F32), ("half", Element::F16), ("bfloat", Element::Bf16)] {
        let kernel = program.kernel(&format!("{name}_k"));
        let got: Vec<f64> = if element == Element::F32 {
            let (mut memory, mut out) = (vec![0_u32; 192], vec![0_u32; expected.len()]);
            let launch = Launch::new().buffer(&mut floats).buffer(&mut memory).buffer(&mut out);
            launch.run(kernel.as_ref(), 32, 32);
            out.into_iter().map(|bits| F32::decode(u64::from(bits))).collect()
        } else {
            let (mut memory, mut out) = (vec![0_u16; 192], vec![0_u16; expected.len()]);
            let launch = Launch::new().buffer(&mut floats).buffer(&mut memory).buffer(&mut out);
            launch.run(kernel.as_ref(), 32, 32);
            let decode = if element == Element::F16 { F16::decode } else { Bf16::decode };
            out.into_iter().map(|bits| decode(u64::from(bits))).collect()
        };
        for (block, (got, expected)) in got.chunks(64).zip(expected.chunks(64)).enumerate() {
            assert_eq!(got, expected, "{name}, block {block}");
        }
    }
    let is_here = |row: &&'static Row| matches!(row.operation, Operation::Matrix(_));
    all_called(&table().iter().filter(is_here).collect::<Vec<_>>(), &reached(&program));
}
