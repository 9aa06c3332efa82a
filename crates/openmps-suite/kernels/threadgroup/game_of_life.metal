// what: generations of a cellular automaton on a torus
// threads: (16, 16)
// group: (16, 16)
// out: np.zeros((16, 16), np.int32)
// in: rng.integers(0, 2, (16, 16)).astype(np.int32)
// let: world = a
// let: around = lambda w: sum(np.roll(w, (y, x), (0, 1)) for y in (-1, 0, 1) for x in (-1, 0, 1)) - w
// let: world = [world := ((around(world) == 3) | (world & (around(world) == 2))).astype(int) for _ in range(5)][-1]
// expect: world
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a, uint2 p [[thread_position_in_threadgroup]]) {
  threadgroup int world[16][16];
  world[p.y][p.x] = a[p.y * 16 + p.x];
  for (int generation = 0; generation < 5; generation++) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    int around = 0;
    for (uint y = 15; y <= 17; y++)
      for (uint x = 15; x <= 17; x++)
        if (x != 16 || y != 16) around += world[(p.y + y) % 16][(p.x + x) % 16];
    bool alive = around == 3 || (world[p.y][p.x] && around == 2);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    world[p.y][p.x] = alive;
  }
  out[p.y * 16 + p.x] = world[p.y][p.x];
}
