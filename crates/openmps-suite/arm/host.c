/*
 * One launch of one kernel without the engine around it, for machines that openmps itself does not run on yet: linked with the
 * kernel's object, it reads the launch from standard input and writes what the buffers hold afterwards to standard output.
 *
 * Structures are those of `abi.rs` in openmps-cpu, and threadgroups are walked through as in `kernel.rs` there; an object of
 * another version is refused. Exit status: 0, or one of the numbers below with a line on standard error. Leaves out what needs
 * the engine's own functions: threads on stacks of their own, textures, tensors.
 *
 * Input, little-endian: threads of the grid and of a threadgroup (three words of 32 bits each), the number of parameters (one),
 * and for each a word that says what it is, and 64 bits with its bytes; a buffer's content follows.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ABI_VERSION 11u
#define SIMD_WIDTH 32u
#define PARAMETERS_MAX 64u
/* Threadgroup memory and frames start at multiples of this, as in the engine. */
#define ALIGNMENT 128u

enum status { BAD_INPUT = 2, OTHER_CODE = 3, FIBERS = 4, TRAPPED = 5 };
enum parameter_kind { BUILTIN = 0, BUFFER = 1, THREADGROUP_MEMORY = 2 };
enum whole_simdgroups { NEVER = 0, IN_THREADGROUP = 1, IN_GRID = 2 };

struct group_context {
  const uint64_t *arguments;
  uint8_t *threadgroup_memory;
  uint32_t threads_per_grid[3];
  uint32_t groups_per_grid[3];
  uint32_t dispatch_size[3];
  uint32_t position[3];
  uint32_t size[3];
  uint8_t *frames;
};

struct kernel_info {
  uint32_t version, mode, flat, threadgroup_memory_bytes, private_bytes, cost;
  uint32_t used_arguments[4], compared_arguments[4];
  uint32_t frame_bytes, step_threads, vectorized, whole_simdgroups, whole_rows, refusal, straight;
};

extern const struct kernel_info openmps_kernel_info;
extern void openmps_kernel(const struct group_context *);

struct launch {
  uint32_t threads[3], group[3], groups[3];
  uint32_t parameters;
  uint64_t words[PARAMETERS_MAX];
  uint64_t buffer_bytes[PARAMETERS_MAX];
  uint64_t threadgroup_bytes;
};

static void stop(enum status status, const char *reason) {
  fprintf(stderr, "%s\n", reason);
  exit(status);
}

/* Functions of the engine that objects name, which only the engine has. */
void openmps_barrier(void) { stop(FIBERS, "a barrier of threads with stacks of their own"); }
void openmps_lane(void) { stop(FIBERS, "a lane operation of threads with stacks of their own"); }
uint32_t openmps_lane_index(void) {
  stop(FIBERS, "threads with stacks of their own");
  return 0;
}
void openmps_trap(void) { stop(TRAPPED, "functions call each other more deeply than they are compiled for"); }

static void read_exactly(void *to, size_t size) {
  if (fread(to, 1, size, stdin) != size) stop(BAD_INPUT, "the launch ends early");
}

static void *allocate(uint64_t size) {
  void *memory = aligned_alloc(ALIGNMENT, (size / ALIGNMENT + 1) * ALIGNMENT);
  if (!memory) stop(BAD_INPUT, "no memory");
  return memory;
}

static uint64_t aligned(uint64_t size) { return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static void read_parameter(struct launch *launch, uint32_t number) {
  uint32_t kind;
  uint64_t size;
  read_exactly(&kind, sizeof kind);
  read_exactly(&size, sizeof size);
  switch (kind) {
  case BUILTIN:
    break;
  case BUFFER: {
    void *content = allocate(size);
    read_exactly(content, size);
    launch->words[number] = (uint64_t)(uintptr_t)content;
    launch->buffer_bytes[number] = size;
    break;
  }
  case THREADGROUP_MEMORY:
    launch->words[number] = launch->threadgroup_bytes;
    launch->threadgroup_bytes += aligned(size);
    break;
  default:
    stop(BAD_INPUT, "a parameter of unknown kind");
  }
}

static void read_launch(struct launch *launch) {
  read_exactly(launch->threads, sizeof launch->threads);
  read_exactly(launch->group, sizeof launch->group);
  read_exactly(&launch->parameters, sizeof launch->parameters);
  if (launch->parameters > PARAMETERS_MAX) stop(BAD_INPUT, "too many parameters");
  launch->threadgroup_bytes = aligned(openmps_kernel_info.threadgroup_memory_bytes);
  for (uint32_t number = 0; number < launch->parameters; number++) read_parameter(launch, number);
  for (int axis = 0; axis < 3; axis++) {
    if (!launch->group[axis]) stop(BAD_INPUT, "an empty threadgroup");
    launch->groups[axis] = (launch->threads[axis] + launch->group[axis] - 1) / launch->group[axis];
  }
}

/* Threads of the threadgroup at `position` on an axis. */
static uint32_t size_at(const struct launch *launch, int axis, uint32_t position) {
  uint32_t left = launch->threads[axis] - position * launch->group[axis];
  return left < launch->group[axis] ? left : launch->group[axis];
}

/* Whether rows are whole SIMD-groups or single, which the code of whole SIMD-groups is made for. */
static int rows_are_whole(const struct launch *launch) {
  uint32_t most[3];
  for (int axis = 0; axis < 3; axis++) most[axis] = size_at(launch, axis, 0);
  uint32_t last = launch->threads[0] % launch->group[0];
  return most[1] * most[2] <= 1 || (most[0] % SIMD_WIDTH == 0 && last % SIMD_WIDTH == 0);
}

static void check(const struct launch *launch) {
  const struct kernel_info *info = &openmps_kernel_info;
  if (info->version != ABI_VERSION) stop(BAD_INPUT, "the object is of another version of the ABI");
  if (info->mode != 0) stop(FIBERS, "threads with stacks of their own");
  int starts_whole = launch->group[0] % SIMD_WIDTH == 0 || launch->groups[0] == 1;
  int is_right = info->whole_simdgroups == NEVER || (rows_are_whole(launch) && (info->whole_simdgroups != IN_GRID || starts_whole));
  for (int edge = 0; edge < 2; edge++) {
    uint32_t row = size_at(launch, 0, edge ? launch->groups[0] - 1 : 0);
    is_right = is_right && (info->whole_rows == 0 || row % SIMD_WIDTH == 0);
  }
  if (!is_right) stop(OTHER_CODE, "the engine has other code for threadgroups of this shape");
}

/* Subnormal operands and results become zero, as in the engine. */
static void flush_subnormals(void) {
  uint64_t control;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  __asm__ volatile("msr fpcr, %0" : : "r"(control | 1u << 24));
}

static void run(const struct launch *launch) {
  const struct kernel_info *info = &openmps_kernel_info;
  const uint32_t *group = launch->group;
  uint64_t steps = (uint64_t)((group[0] + info->step_threads - 1) / info->step_threads) * group[1] * group[2];
  struct group_context context = {
      .arguments = launch->words,
      .threadgroup_memory = allocate(launch->threadgroup_bytes),
      .frames = allocate(steps * info->frame_bytes),
  };
  /* What is not written is not zero. */
  memset(context.threadgroup_memory, 0xa5, launch->threadgroup_bytes);
  memset(context.frames, 0xa5, steps * info->frame_bytes);
  memcpy(context.threads_per_grid, launch->threads, sizeof launch->threads);
  memcpy(context.groups_per_grid, launch->groups, sizeof launch->groups);
  memcpy(context.dispatch_size, launch->group, sizeof launch->group);
  flush_subnormals();
  for (uint32_t z = 0; z < launch->groups[2]; z++)
    for (uint32_t y = 0; y < launch->groups[1]; y++)
      for (uint32_t x = 0; x < launch->groups[0]; x++) {
        const uint32_t position[3] = {x, y, z};
        memcpy(context.position, position, sizeof position);
        for (int axis = 0; axis < 3; axis++) context.size[axis] = size_at(launch, axis, position[axis]);
        openmps_kernel(&context);
      }
}

int main(void) {
  static struct launch launch;
  read_launch(&launch);
  check(&launch);
  run(&launch);
  for (uint32_t number = 0; number < launch.parameters; number++)
    fwrite((const void *)(uintptr_t)launch.words[number], 1, launch.buffer_bytes[number], stdout);
  return fflush(stdout) ? BAD_INPUT : 0;
}
