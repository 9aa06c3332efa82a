//! Every built-in argument over non-uniform threadgroups.

use openmps_engine::{Builtin, Grid};

use crate::harness::{Random, bind, buffer, builtin, builtin16, compile, dispatch};

/// Stores the components of one built-in at the thread's place in the grid.
fn text(ty: &str, lanes: u8) -> String {
    let scalar = if ty.contains("i16") { "i16" } else { "i32" };
    let mut body = String::new();
    for lane in 0..lanes {
        let value = if lanes == 1 { "%value".to_owned() } else { format!("%e{lane}") };
        if lanes > 1 {
            body += &format!("  %e{lane} = extractelement {ty} %value, i32 {lane}\n");
        }
        let wide = if scalar == "i16" { format!("%w{lane}") } else { value.clone() };
        if scalar == "i16" {
            body += &format!("  %w{lane} = zext i16 {value} to i32\n");
        }
        body += &format!("  %p{lane} = getelementptr i32, ptr addrspace(1) %out, i64 %slot{lane}\n");
        body += &format!("  store i32 {wide}, ptr addrspace(1) %p{lane}\n");
    }
    format!(
        "define void @k(ptr addrspace(1) %out, {ty} %value, <3 x i32> %at, <3 x i32> %size) {{
  %x = extractelement <3 x i32> %at, i32 0
  %y = extractelement <3 x i32> %at, i32 1
  %z = extractelement <3 x i32> %at, i32 2
  %w = extractelement <3 x i32> %size, i32 0
  %h = extractelement <3 x i32> %size, i32 1
  %zh = mul i32 %z, %h
  %row = add i32 %zh, %y
  %first = mul i32 %row, %w
  %i = add i32 %first, %x
  %l = zext i32 %i to i64
  %slot0 = mul i64 %l, 3
  %slot1 = add i64 %slot0, 1
  %slot2 = add i64 %slot0, 2
{body}  ret void
}}"
    )
}

/// What the built-in is for the thread at `at`.
fn expected(which: Builtin, grid: &Grid, at: [u32; 3]) -> [u32; 3] {
    let groups = grid.groups();
    let group: [u32; 3] = std::array::from_fn(|axis| at[axis] / grid.group[axis]);
    let local: [u32; 3] = std::array::from_fn(|axis| at[axis] % grid.group[axis]);
    let size = grid.group_size_at(group);
    let index = local[0] + size[0] * (local[1] + size[1] * local[2]);
    let (threads, full) = (size.iter().product::<u32>(), grid.group.iter().product::<u32>());
    let one = |value| [value, 0, 0];
    match which {
        Builtin::ThreadPositionInGrid => at,
        Builtin::ThreadPositionInThreadgroup => local,
        Builtin::ThreadIndexInThreadgroup => one(index),
        Builtin::ThreadIndexInSimdgroup => one(index % 32),
        Builtin::ThreadIndexInQuadgroup => one(index % 4),
        Builtin::ThreadgroupPositionInGrid => group,
        Builtin::ThreadgroupsPerGrid => groups,
        Builtin::ThreadsPerGrid | Builtin::GridSize => grid.threads,
        Builtin::ThreadsPerThreadgroup => size,
        Builtin::ThreadsPerSimdgroup | Builtin::ThreadExecutionWidth => one(32),
        Builtin::SimdgroupIndexInThreadgroup => one(index / 32),
        Builtin::SimdgroupsPerThreadgroup => one(threads.div_ceil(32)),
        Builtin::QuadgroupIndexInThreadgroup => one(index / 4),
        Builtin::QuadgroupsPerThreadgroup => one(threads.div_ceil(4)),
        Builtin::DispatchThreadsPerThreadgroup => grid.group,
        Builtin::DispatchSimdgroupsPerThreadgroup => one(full.div_ceil(32)),
        Builtin::DispatchQuadgroupsPerThreadgroup => one(full.div_ceil(4)),
        Builtin::GridOrigin => [0; 3],
    }
}

fn has_three_components(which: Builtin) -> bool {
    expected(which, &Grid { threads: [50, 50, 50], group: [9, 8, 7] }, [49, 49, 49])[1] != 0
        || which == Builtin::GridOrigin
}

fn check(which: Builtin, lanes: u8, is_short: bool, random: &mut Random) {
    let scalar = if is_short { "i16" } else { "i32" };
    let ty = if lanes == 1 { scalar.to_owned() } else { format!("<{lanes} x {scalar}>") };
    let argument = if is_short { builtin16(which, lanes) } else { builtin(which, lanes) };
    let grid = [builtin(Builtin::ThreadPositionInGrid, 3), builtin(Builtin::ThreadsPerGrid, 3)];
    let [position, size] = grid;
    let kernel = compile(&text(&ty, lanes), &[buffer(0), argument, position, size]);
    let threads = [1 + random.below(40), 1 + random.below(12), 1 + random.below(4)];
    let grid = Grid { threads, group: [1 + random.below(16), 1 + random.below(8), 1 + random.below(4)] };
    let mut output = vec![u32::MAX; 3 * threads.iter().product::<u32>() as usize];
    let mut bindings = Default::default();
    bind(&mut bindings, 0, &mut output);
    dispatch(&*kernel, &bindings, grid.threads, grid.group);
    let mut slots = output.chunks(3);
    for z in 0..threads[2] {
        for y in 0..threads[1] {
            for x in 0..threads[0] {
                let lanes = usize::from(lanes);
                let expected = expected(which, &grid, [x, y, z]);
                assert_eq!(
                    slots.next().unwrap()[..lanes],
                    expected[..lanes],
                    "{} of {ty} at {x} {y} {z} in {grid:?}",
                    which.name()
                );
            }
        }
    }
}

#[test]
fn every_built_in_has_metals_value() {
    let mut random = Random::fresh();
    for which in Builtin::ALL {
        for lanes in if has_three_components(which) { 1..=3 } else { 1..=1 } {
            check(which, lanes, false, &mut random);
            check(which, lanes, true, &mut random);
        }
    }
}
