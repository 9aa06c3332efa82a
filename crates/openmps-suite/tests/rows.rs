//! Threadgroups of all shapes: positions, lane operations, barriers and threadgroup memory are the same for SIMD-groups that run
//! as vectors and for threads that run one after the other, wherever SIMD-groups lie in rows.

use std::sync::Arc;

use openmps_cpu::{CpuEngine, LlvmCodeGenerator};
use openmps_engine::{CompileOptions, CompiledKernel, EngineChoice, EngineOptions, Grid};
use openmps_suite::machine::{Launch, Program};

/// Shapes of threadgroups: rows of whole SIMD-groups, short rows, rows and planes that SIMD-groups do not end with.
const GROUPS: [[u32; 3]; 20] = [
    [16, 16, 1],
    [16, 3, 1],
    [8, 8, 1],
    [8, 8, 8],
    [8, 4, 2],
    [4, 4, 4],
    [4, 8, 2],
    [4, 20, 1],
    [2, 16, 2],
    [2, 9, 1],
    [1, 64, 1],
    [1, 40, 1],
    [1, 32, 2],
    [5, 3, 1],
    [5, 12, 1],
    [7, 1, 1],
    [33, 2, 1],
    [48, 1, 1],
    [64, 2, 2],
    [1, 1, 33],
];

const WORDS: usize = 8;

/// A kernel `name` that writes `WORDS` words a thread, `values`, after `body`. `place` names what it asks for, with attributes.
fn kernel(name: &str, place: &[&str], body: &str, values: [&str; WORDS]) -> String {
    let attribute = |name: &str| match name {
        "grid" => "uint3 grid [[thread_position_in_grid]]",
        "local" => "uint3 local [[thread_position_in_threadgroup]]",
        "index" => "uint index [[thread_index_in_threadgroup]]",
        "lane" => "uint lane [[thread_index_in_simdgroup]]",
        "simdgroup" => "uint simdgroup [[simdgroup_index_in_threadgroup]]",
        "simdgroups" => "uint simdgroups [[simdgroups_per_threadgroup]]",
        "quad" => "uint quad [[quadgroup_index_in_threadgroup]]",
        "group" => "uint3 group [[threadgroup_position_in_grid]]",
        "size" => "uint3 size [[threads_per_threadgroup]]",
        "asked" => "uint3 asked [[dispatch_threads_per_threadgroup]]",
        "all" => "uint3 all [[threads_per_grid]]",
        other => panic!("no place '{other}'"),
    };
    let place: Vec<&str> = place.iter().map(|name| attribute(name)).collect();
    let stores: Vec<String> =
        values.iter().enumerate().map(|(at, value)| format!("out[at * {WORDS} + {at}] = uint({value});")).collect();
    format!(
        "kernel void {name}(device uint* out, device const uint* in, constant uint& count, {}) {{
  {body}
  {}
}}
",
        place.join(", "),
        stores.join("\n  ")
    )
}

fn text() -> String {
    let at = "uint at = (grid.z * all.y + grid.y) * all.x + grid.x;";
    let mut text = "#include <metal_stdlib>\nusing namespace metal;\n".to_owned();
    // What is the same in a row, what counts in it, and what comes from both.
    text += &kernel(
        "positions",
        &["grid", "local", "index", "size", "asked", "all"],
        &format!(
            "{at} uint sum = 0; for (uint i = 0; i < count; i++) sum = sum * 3 + in[(local.y * size.x + local.x + i) % 1024];"
        ),
        [
            "index",
            "local.x * 1000 + local.y",
            "local.z",
            "grid.x * grid.y",
            "size.x * size.y + asked.x",
            "sum",
            "index == (local.z * size.y + local.y) * size.x + local.x",
            "in[local.x] + in[local.y] * 3 + in[local.y * 32 + local.x]",
        ],
    );
    text += &kernel(
        "lanes",
        &["grid", "local", "index", "lane", "simdgroup", "simdgroups", "quad", "all"],
        &format!("{at} uint mine = in[at % 1024]; uint some = 0; if (local.x % 2 == 0) some = simd_sum(mine) + 1;"),
        [
            "lane * 100 + simdgroup",
            "simd_sum(mine)",
            "simd_shuffle_down(mine, 3)",
            "simd_prefix_inclusive_sum(local.x)",
            "simd_max(local.y) * 64 + quad",
            "quad_sum(mine) + simdgroups",
            "some",
            "ulong(simd_active_threads_mask()) + index",
        ],
    );
    text += &kernel(
        "threadgroups",
        &["grid", "local", "index", "group", "size", "all"],
        &format!(
            "{at}
  threadgroup uint tile[1024];
  uint total = size.x * size.y * size.z;
  tile[index] = in[at % 1024];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  uint column = 0, row = 0;
  for (uint i = 0; i < size.y; i++) column += tile[i * size.x + local.x];
  for (uint i = 0; i < size.x; i++) row = row * 5 + tile[local.y * size.x + i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint half_of = 512; half_of > 0; half_of /= 2) {{
    if (index < half_of && index + half_of < total) tile[index] += tile[index + half_of];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }}"
        ),
        ["column", "row", "tile[0]", "tile[index]", "group.x + group.y + group.z", "total", "local.x", "local.y"],
    );
    text += &kernel(
        "both",
        &["grid", "local", "index", "lane", "simdgroup", "simdgroups", "all"],
        &format!(
            "{at}
  threadgroup float sums[32];
  threadgroup float tile[16][16];
  float mine = in[at % 1024] * 0.37f;
  if (grid.x < count && grid.y < count + 2) tile[local.y % 16][local.x % 16] = mine;
  float sum = simd_sum(mine);
  if (lane == 0) sums[simdgroup] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float all_sums = 0;
  for (uint i = 0; i < simdgroups; i++) all_sums += sums[i];
  for (uint turn = 0; turn < (local.x + local.y) % 5; turn++) mine = mine * 1.5f + simd_max(mine);"
        ),
        [
            "as_type<uint>(sum)",
            "as_type<uint>(all_sums)",
            "as_type<uint>(mine)",
            "index",
            "lane",
            "simdgroup",
            "local.x",
            "local.y",
        ],
    );
    // What a whole threadgroup shares behind a barrier, beside what a SIMD-group writes and reads there.
    text += &kernel(
        "shared",
        &["grid", "local", "index", "lane", "simdgroup", "simdgroups", "all"],
        &format!(
            "{at}
  threadgroup float sums[32];
  threadgroup float own[32];
  threadgroup atomic_uint counter;
  float mine = in[at % 1024] * 0.37f;
  float sum = simd_sum(mine);
  if (lane == 0) {{ sums[simdgroup] = sum; own[simdgroup] = mine; }}
  if (index == 0) atomic_store_explicit(&counter, count, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float total = 0, largest = 0;
  if (count > 2) total = simd_sum(lane < simdgroups ? sums[lane] : 0.0f);
  for (uint i = 0; i < count; i++) largest = max(largest, sums[i % simdgroups]);
  float scale = rsqrt(total / count + 1);
  if (lane == 0) own[simdgroup] += scale;
  simdgroup_barrier(mem_flags::mem_threadgroup);
  float back = own[simdgroup];
  simdgroup_barrier(mem_flags::mem_threadgroup);
  for (uint turn = 0; turn < simdgroup % 3; turn++) {{
    if (lane == turn) own[simdgroup] = back * scale + turn;
    simdgroup_barrier(mem_flags::mem_threadgroup);
    back += own[simdgroup];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit(&counter, lane, memory_order_relaxed);
  }}
  float first = simdgroup > 0 ? sums[0] : mine;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simdgroup == simdgroups - 1) sums[lane] = total * lane;
  threadgroup_barrier(mem_flags::mem_threadgroup);"
        ),
        [
            "as_type<uint>(total)",
            "as_type<uint>(largest)",
            "as_type<uint>(scale)",
            "as_type<uint>(back)",
            "as_type<uint>(first)",
            "atomic_load_explicit(&counter, memory_order_relaxed)",
            "as_type<uint>(sums[(count + simdgroup) % simdgroups])",
            "as_type<uint>(own[0])",
        ],
    );
    // Bytes, halves and narrow indices, whose steps may wrap.
    text += &kernel(
        "narrow",
        &["grid", "local", "all"],
        &format!("{at} device const uchar* bytes = (device const uchar*)in; device const half* halves = (device const half*)in;
  ushort narrow = ushort(local.x * 5 + local.y * 3000); uchar tiny = uchar(local.y * 30 + local.x); uint sum = 0;
  for (uint i = 0; i < count; i++) sum += bytes[(narrow + i) % 4096] + bytes[tiny + i];
  if (local.x > 2 && local.y != 1) sum += bytes[local.x + local.y * 16];"),
        ["sum", "narrow", "tiny", "bytes[local.y * 64 + local.x]", "as_type<ushort>(halves[local.x]) + as_type<ushort>(halves[local.y * 8])",
         "local.x / (local.y + 1)", "in[(local.x & 3) + local.y]", "in[uchar(local.y * 40 + local.x + 200)]"],
    );
    // Rows that start at numbers of their own, in loops and behind conditions, and steps that wrap within a row.
    text += &kernel(
        "strided",
        &["grid", "local", "all"],
        &format!(
            "{at} uint sum = 0; uint place = local.y * count; int other = int(local.y) * int(count) - 9;
  for (uint i = 0; i < count; i++) {{ sum = sum * 3 + in[place + local.x]; place += count + 1; }}
  if (local.y * count + local.x >= 8) sum += in[local.y * count + local.x - 8u];
  if (other + int(local.x) >= 0) sum += in[other + int(local.x)];
  for (uint i = 0; i < local.y % 3 + 1; i++) {{ place = (place + i) & 1023; sum += in[place ^ 1]; }}"
        ),
        [
            "sum",
            "in[local.y * count + local.x]",
            "in[local.y * count]",
            "in[uchar(local.y * count + local.x + 250)]",
            "in[ushort(local.y * 32 + local.x + 65530) % 4096]",
            "in[(local.y << 2 | 1) * count]",
            "count > 3 ? in[local.y * count + local.x] : in[local.y]",
            "in[local.y * count * 2 + local.x * 2] + in[local.y * count * 2 + local.x * 2 + 1]",
        ],
    );
    text
}

fn results(kernel: &dyn CompiledKernel, grid: &Grid, count: u32) -> Vec<u32> {
    let threads = grid.threads.iter().product::<u32>() as usize;
    let mut out = vec![0xdead_beef_u32; threads * WORDS];
    let mut input: Vec<u32> = (0..4096_u32).map(|at| at.wrapping_mul(2_654_435_761) >> 20).collect();
    Launch::new().buffer(&mut out).buffer(&mut input).buffer(&mut [count]).run_grid(kernel, grid);
    out
}

/// The grid of a kernel that cannot tell is cut into narrow tiles where its rows write across: every thread runs once.
#[test]
fn threads_that_write_across_run_once() {
    let text = "kernel void across(device uint* out, device const uint* in, constant uint& count, uint3 at [[thread_position_in_grid]]) {
  uint place = (at.z * 300 + at.x) * count + at.y;
  if (in[at.x] != 5) out[place] += in[at.y * 3 + at.x] + at.x * at.y + 1;
}
";
    let program = Program::new(text, &CompileOptions::default());
    let cpu = CpuEngine::new(Arc::new(LlvmCodeGenerator));
    let options = EngineOptions { engine: EngineChoice::Vector, ..EngineOptions::default() };
    let kernel = program.kernel_on(&cpu, "across", &options).unwrap();
    for threads in [[70, 90, 1], [3, 300, 2], [257, 5, 3], [4, 1, 1], [8, 1030, 1], [299, 259, 1]] {
        for group in [[8, 8, 1], [16, 4, 2], [1, 9, 1], [32, 1, 1]] {
            let [width, height, depth] = threads.map(|size| size as usize);
            let mut input: Vec<u32> = (0..4096_u32).map(|at| at.wrapping_mul(2_654_435_761) >> 27).collect();
            let mut expected = vec![7_u32; 300 * depth * height];
            for (z, y, x) in (0..depth).flat_map(|z| (0..height).flat_map(move |y| (0..width).map(move |x| (z, y, x))))
            {
                if input[x] != 5 {
                    expected[(z * 300 + x) * height + y] += input[y * 3 + x] + u32::try_from(x * y + 1).unwrap();
                }
            }
            let mut out = vec![7_u32; expected.len()];
            Launch::new()
                .buffer(&mut out)
                .buffer(&mut input)
                .buffer(&mut [threads[1]])
                .run_grid(kernel.as_ref(), &Grid { threads, group });
            let wrong = (0..out.len()).find(|&at| out[at] != expected[at]);
            assert_eq!(wrong.map(|at| (at, out[at], expected[at])), None, "{threads:?} in {group:?}");
        }
    }
}

#[test]
fn every_shape_of_threadgroups_gives_the_same() {
    let program = Program::new(&text(), &CompileOptions::default());
    for name in ["positions", "lanes", "threadgroups", "both", "shared", "narrow", "strided"] {
        let [scalar, vector] = [EngineChoice::Scalar, EngineChoice::Vector].map(|engine| {
            let options = EngineOptions { engine, verify_each_pass: true, ..EngineOptions::default() };
            let cpu = CpuEngine::new(Arc::new(LlvmCodeGenerator));
            let kernel = program.kernel_on(&cpu, name, &options).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(cpu.counts().vectorized, u64::from(engine == EngineChoice::Vector), "{name}");
            kernel
        });
        for group in GROUPS {
            // Whole threadgroups, partial ones along each axis, and one that is larger than the grid.
            let times = |n: u32, more: u32| group.map(|size| size * n + if size > 1 { more } else { 0 });
            for threads in [times(2, 0), times(1, 1), [group[0] * 2, group[1] + 1, group[2]], [3, 2, 1]] {
                let grid = Grid { threads, group };
                let (expected, actual) = (results(scalar.as_ref(), &grid, 7), results(vector.as_ref(), &grid, 7));
                let wrong = (0..actual.len()).find(|&at| expected[at] != actual[at]);
                let told = wrong.map(|at| (at / WORDS, at % WORDS, expected[at], actual[at]));
                assert_eq!(told, None, "{name}, {grid:?}: (thread, word, expected, actual)");
            }
        }
    }
}
